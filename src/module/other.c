/* SPDX-License-Identifier: MIT */
/*
** See module/other.h.
*/
#include "config.h"

#include "module/other.h"

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(MP_REFS32)

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lauxlib.h"

#define NAME		"core32.so"

/* The head of bytecode: three letters, a version, flags. */
#define HEAD_FLAGS	4
#define FLAG_FR2	0x08	/* Frames have two slots, as in GC64 mode. */

typedef struct head {
  char text[HEAD_FLAGS + 1];
  size_t len;
} head;

static int write_head(lua_State *L, const void *p, size_t n, void *ud)
{
  head *h = ud;
  size_t room = sizeof(h->text) - h->len;
  (void)L;
  if (n > room) n = room;
  memcpy(h->text + h->len, p, n);
  h->len += n;
  return 0;
}

/* Whether the VM's bytecode says that it has frames of one slot. */
static bool has_refs32(lua_State *L)
{
  head h = { "", 0 };
  if (luaL_loadbuffer(L, "", 0, "=mp") == 0) lua_dump(L, write_head, &h);
  lua_pop(L, 1);
  return h.len == sizeof(h.text) && memcmp(h.text, "\033LJ", 3) == 0 &&
	 !(h.text[HEAD_FLAGS] & FLAG_FR2);
}

/* The other core's file. False: there is no room for its name. */
static bool beside(char path[PATH_MAX])
{
  static const char here = 0;
  const char *end;
  Dl_info info;
  int n;
  if (dladdr(&here, &info) == 0 || info.dli_fname == NULL ||
      (end = strrchr(info.dli_fname, '/')) == NULL)
    return false;
  n = snprintf(path, PATH_MAX, "%.*s/" NAME, (int)(end - info.dli_fname),
	       info.dli_fname);
  return n > 0 && n < PATH_MAX;
}

lua_CFunction mp_other_core(lua_State *L)
{
  char path[PATH_MAX];
  lua_CFunction open;
  void *module, *symbol;
  if (!has_refs32(L) || !beside(path)) return NULL;
  module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  symbol = module == NULL ? NULL : dlsym(module, "luaopen_jit_mp_core");
  memcpy(&open, &symbol, sizeof(open));
  return open;
}

#else

lua_CFunction mp_other_core(lua_State *L)
{
  (void)L;
  return NULL;
}

#endif
