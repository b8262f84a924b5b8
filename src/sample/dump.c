/* SPDX-License-Identifier: MIT */
/*
** A stack by LuaJIT's dump. See sample/dump.h.
*/
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/dump.h"
#include "sample/name.h"

#include "luajit.h"

/* For each frame: module:name SEP module:line END, where the first falls back
** to module:firstline, and where a C function has [builtin#n] or @address. */
#define DUMP_FORMAT	"pF\1l\2"
#define SEP		'\1'
#define END		'\2'

typedef struct text {
  const char *p, *end;
} text;

static bool all_digits(const char *p, const char *end)
{
  if (p == end) return false;
  for (; p < end; p++)
    if (*p < '0' || *p > '9') return false;
  return true;
}

/* The second part of a frame that is no Lua function of a chunk. */
static bool parse_cpart(mp_frame *f, const char *p, const char *end,
			char *buf)
{
  unsigned long long addr;
  if (sscanf(p, "[builtin#%u]", &f->builtin) == 1) {
    f->kind = MP_BUILTIN;
    f->name = NULL;
    f->namelen = 0;
  } else if (end - p > 10 && memcmp(p, "[builtin:", 9) == 0) {
    f->kind = MP_BUILTIN;
    mp_name_set(f, p + 9, (size_t)(end - p - 10), buf);
  } else if (sscanf(p, "@%llx", &addr) == 1) {
    mp_name_cfunction(f, (void *)(uintptr_t)addr, buf);
  } else {
    return false;
  }
  return true;
}

/* Takes the module off a name that is no place, "module:name", where the module
** is the frame's own. */
static void strip_module(mp_frame *f, const char *first, char *buf)
{
  if (f->namelen <= f->sourcelen || first[f->sourcelen] != ':' ||
      memcmp(first, f->source, f->sourcelen) != 0)
    return;
  f->name += f->sourcelen + 1;
  f->namelen -= f->sourcelen + 1;
  if (all_digits(f->name, f->name + f->namelen)) {  /* No name: a line. */
    f->linedefined = (int32_t)strtol(f->name, NULL, 10);
    f->name = NULL;
    f->namelen = 0;
  } else {
    mp_name_set(f, f->name, f->namelen, buf);
  }
}

/* Takes one frame off the dump. False: there is none. */
static bool parse_frame(text *t, mp_frame *f, char *buf)
{
  const char *first = t->p, *second, *end, *colon;
  second = memchr(first, SEP, (size_t)(t->end - first));
  if (second++ == NULL) return false;
  end = memchr(second, END, (size_t)(t->end - second));
  if (end == NULL) return false;
  t->p = end + 1;
  *f = mp_name_none();
  if (*second == '[' || *second == '@') {
    if (*first != '[' && *first != '@')
      mp_name_set(f, first, (size_t)(second - 1 - first), buf);
    if (parse_cpart(f, second, end, buf)) return true;
  }
  for (colon = end; colon > second && *colon != ':'; colon--) ;
  f->name = first;
  f->namelen = (uint32_t)(second - 1 - first);
  f->source = second;
  f->sourcelen = (uint32_t)(colon - second);
  f->line = (int32_t)strtol(colon + 1, NULL, 10);
  strip_module(f, first, buf);
  return true;
}

int mp_dump_frames(mp_stacks *s, lua_State *L, uint32_t *ids)
{
  size_t len;
  text t;
  int n = 0;
  t.p = luaJIT_profile_dumpstack(L, DUMP_FORMAT, MP_DUMP_DEPTH, &len);
  t.end = t.p + len;
  while (n < MP_DUMP_DEPTH && t.p < t.end) {
    char buf[MP_NAME_MAX];
    mp_frame f;
    if (!parse_frame(&t, &f, buf)) break;
    if ((ids[n] = mp_stacks_frame(s, &f)) == MP_NONE) return -1;
    n++;
  }
  return n;
}

/* Characters that mean nothing are copied into the buffer. */
int mp_dump_prepare(lua_State *L)
{
  char format[4096];
  size_t len;
  memset(format, '.', sizeof(format) - 1);
  format[sizeof(format) - 1] = '\0';
  luaJIT_profile_dumpstack(L, format, 8, &len);
  return 0;
}
