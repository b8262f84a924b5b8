/* SPDX-License-Identifier: MIT */
/*
** See host/module.h.
*/
#include "config.h"

#include <stdbool.h>

#include "host/module.h"

#include "lauxlib.h"

/* Pushes what require returns, or a message. */
static bool require(lua_State *L, const char *name)
{
  lua_getglobal(L, "require");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "the state has no function require: call luaL_openlibs");
    return false;
  }
  lua_pushstring(L, name);
  return lua_pcall(L, 1, 1, 0) == 0;
}

/* Puts a pattern before a path of the table package, at index 1. Leaves the
** path as it was on the stack. */
static void prepend(lua_State *L, const char *field, const char *pattern)
{
  lua_getfield(L, 1, field);
  lua_pushstring(L, pattern);
  lua_pushliteral(L, ";");
  lua_pushvalue(L, -3);
  lua_concat(L, 3);
  lua_setfield(L, 1, field);
}

/* require(name) with the directories of the installation; the paths are put
** back. Upvalue 1: the name. */
static int require_installed(lua_State *L)
{
  bool ok;
  lua_settop(L, 0);
  lua_getglobal(L, "package");
  luaL_checktype(L, 1, LUA_TTABLE);
  prepend(L, "path", MP_LUADIR "/?.lua");
  prepend(L, "cpath", MP_CMODDIR "/?.so");
  ok = require(L, lua_tostring(L, lua_upvalueindex(1)));
  lua_insert(L, 2);
  lua_setfield(L, 1, "cpath");
  lua_setfield(L, 1, "path");
  return ok ? 1 : lua_error(L);
}

void mp_module_push(lua_State *L, const char *name)
{
  luaL_checkstack(L, 8, "too many values");
  if (require(L, name)) return;
  lua_pushstring(L, name);
  lua_pushcclosure(L, require_installed, 1);
  if (lua_pcall(L, 0, 1, 0) == 0) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);  /* What the program's paths give says more. */
  lua_error(L);
}
