/* SPDX-License-Identifier: MIT */
/*
** See module/arguments.h.
*/
#include "config.h"

#include <errno.h>
#include <string.h>

#include "module/arguments.h"
#include "report/report.h"

#include "lauxlib.h"

int mp_fail(lua_State *L, const char *msg, int err)
{
  if (err == MP_WRONG) return luaL_error(L, "jit.mp: %s", msg);
  lua_pushnil(L);
  lua_pushstring(L, msg);
  lua_pushinteger(L, err == MP_FOREIGN ? EACCES :
		     err == MP_ELSEWHERE ? EBUSY : err);
  return 3;
}

bool mp_is_writer(lua_State *L, int i)
{
  bool is;
  if (lua_type(L, i) != LUA_TUSERDATA || !lua_getmetatable(L, i)) return false;
  luaL_getmetatable(L, "jit.mp.writer");
  is = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

void mp_check_output(lua_State *L, int i)
{
  if (lua_type(L, i) != LUA_TSTRING && lua_type(L, i) != LUA_TNIL)
    luaL_error(L, "jit.mp: the output must be a file name, not a %s",
	       luaL_typename(L, i));
  if (lua_objlen(L, i) != 0 && strlen(lua_tostring(L, i)) != lua_objlen(L, i))
    luaL_error(L, "jit.mp: a file name cannot have a zero byte");
}

void mp_check_arguments(lua_State *L)
{
  int i, n;
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, lua_gettop(L) > 0 ? lua_gettop(L) : 1);
    lua_pushliteral(L, "f");
    lua_replace(L, 1);
  }
  luaL_checkstack(L, 8, "too many outputs");
  n = lua_gettop(L);
  if (n > 1 && mp_is_writer(L, n)) n--;
  if (lua_type(L, 1) != LUA_TSTRING && lua_type(L, 1) != LUA_TTABLE)
    luaL_error(L, "jit.mp: the options must be a string or a table, not a %s",
	       luaL_typename(L, 1));
  for (i = 2; i <= n; i++) mp_check_output(L, i);
}
