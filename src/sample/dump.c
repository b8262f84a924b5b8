/* SPDX-License-Identifier: MIT */
/*
** See sample/dump.h.
*/
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/dump.h"
#include "sample/name.h"

#include "luajit.h"

#define DUMP_FORMAT	"l\2"	/* A C function has [builtin#n] or @address. */
#define END		'\2'

/* By the dump, because lua_getinfo does not tell builtins apart. The level has
** a function that is none of a chunk's. */
static void name_other(mp_frame *f, lua_State *L, int level,
		       char buf[MP_NAME_MAX])
{
  unsigned long long addr;
  size_t len;
  const char *p = luaJIT_profile_dumpstack(L, DUMP_FORMAT, ~level, &len);
  const char *end = memchr(p, END, len);
  if (end == NULL) return;
  if (sscanf(p, "[builtin#%u]", &f->builtin) == 1) {
    f->kind = MP_BUILTIN;
    f->name = NULL;
    f->namelen = 0;
  } else if (end - p > 10 && memcmp(p, "[builtin:", 9) == 0) {
    f->kind = MP_BUILTIN;
    mp_name_set(f, p + 9, (size_t)(end - p - 10), buf);
  } else if (sscanf(p, "@%llx", &addr) == 1) {
    mp_name_cfunction(f, (void *)(uintptr_t)addr, buf);
  }
}

/* See has_name in sample/name.c. A metamethod that runs cannot be distinguished
** from a function that has only its name. */
static bool has_name(const lua_Debug *ar)
{
  return ar->name != NULL && *ar->name != '\0' &&
	 (*ar->namewhat != 'm' || strcmp(ar->name, "__gc") == 0);
}

static void name_frame(mp_frame *f, lua_State *L, int level, lua_Debug *ar,
		       char buf[MP_NAME_MAX + MP_CHUNK_MAX])
{
  *f = mp_name_none();
  lua_getinfo(L, "nSl", ar);
  if (has_name(ar)) mp_name_set(f, ar->name, strlen(ar->name), buf);
  if (*ar->what == 'C' || ar->linedefined < 0) {
    name_other(f, L, level, buf);
    return;
  }
  /* A function from bytecode without debug information is not a main chunk. */
  if (ar->linedefined != 0 || *ar->what == 'm') {
    f->linedefined = ar->linedefined;
    f->line = ar->currentline >= 0 ? ar->currentline : ar->linedefined;
  }
  mp_name_chunk(f, ar->source, strlen(ar->source), buf + MP_NAME_MAX);
}

int mp_dump_frames(mp_stacks *s, lua_State *L, uint32_t *ids)
{
  lua_Debug ar;
  int n;
  for (n = 0; n < MP_DUMP_DEPTH && lua_getstack(L, n, &ar); n++) {
    char buf[MP_NAME_MAX + MP_CHUNK_MAX];
    mp_frame f;
    name_frame(&f, L, n, &ar, buf);
    if ((ids[n] = mp_stacks_frame(s, &f)) == MP_NONE) return -1;
  }
  return n;
}

/* Characters that mean nothing are copied into the buffer. */
int mp_dump_prepare(lua_State *L)
{
  char format[512];
  size_t len;
  memset(format, '.', sizeof(format) - 1);
  format[sizeof(format) - 1] = '\0';
  luaJIT_profile_dumpstack(L, format, 8, &len);
  return 0;
}
