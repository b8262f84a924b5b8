/* SPDX-License-Identifier: MIT */
/*
** For the tests that are host programs: states of Lua that are profiled.
*/
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static inline void run(lua_State *L, const char *code)
{
  if (luaL_dostring(L, code) != 0)
    ck_abort_msg("%s", lua_tostring(L, -1));
}

/* Makes the state find the modules of the build. */
static inline void open_libraries(lua_State *L)
{
  luaL_openlibs(L);
  run(L, "local src, build = os.getenv('srcdir'), os.getenv('builddir')\n"
	 "package.path = src..'/lib/?.lua;'..package.path\n"
	 "package.cpath = build..'/.uninstalled/?.so;'..package.cpath\n"
	 "mp = require('jit.mp')\n");
}

/* Where all is well no lock of libcheck's is taken: a child that is forked
** meanwhile would find it held. */
static inline lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  if (L == NULL) ck_abort_msg("no state");
  open_libraries(L);
  return L;
}

static const char work[] =
  "local keep = {}\n"
  "for i = 1, 30000 do keep[i % 100 + 1] = { i } end\n"
  "return #keep\n";

static inline void start(lua_State *L, const char *opts, const char *file)
{
  char code[512];
  snprintf(code, sizeof(code), "assert(mp.start('%s', '%s'))", opts, file);
  run(L, code);
}

static inline void file_name(char *buf, size_t n, int i)
{
  snprintf(buf, n, "%s/mp-host-%ld-%d.tmp", getenv("builddir"), (long)getpid(),
	   i);
}

/* The file's text, which must be there; the file is removed. */
static inline char *take_file(const char *name)
{
  static char text[65536];
  FILE *f = fopen(name, "r");
  size_t n;
  ck_assert_msg(f != NULL, "no file %s", name);
  n = fread(text, 1, sizeof(text) - 1, f);
  text[n] = '\0';
  fclose(f);
  remove(name);
  return text;
}

#endif
