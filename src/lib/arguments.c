/* SPDX-License-Identifier: MIT */
/*
** See lib/arguments.h.
*/
#include "config.h"

#include <errno.h>

#include "lib/arguments.h"
#include "out/report.h"

#include "lauxlib.h"

int mp_fail(lua_State *L, const char *msg, int err)
{
  if (err == MP_WRONG) return luaL_error(L, "jit.mp: %s", msg);
  lua_pushnil(L);
  lua_pushstring(L, msg);
  lua_pushinteger(L, err == MP_FOREIGN ? EACCES : err);
  return 3;
}

void mp_check_arguments(lua_State *L)
{
  int i;
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, lua_gettop(L) > 0 ? lua_gettop(L) : 1);
    lua_pushliteral(L, "f");
    lua_replace(L, 1);
  }
  for (i = 1; i <= lua_gettop(L); i++)
    if (lua_type(L, i) != LUA_TSTRING &&
	lua_type(L, i) != (i == 1 ? LUA_TTABLE : LUA_TNIL))
      luaL_error(L, "jit.mp: the %s, not a %s", i == 1 ? "options must be a "
		 "string or a table" : "output must be a file name",
		 luaL_typename(L, i));
  luaL_checkstack(L, 8, "too many outputs");
}
