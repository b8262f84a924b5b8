/* SPDX-License-Identifier: MIT */
/*
** See module/userdata.h.
*/
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "module/userdata.h"

#define KEY	1		/* Of the metatable: the key. */

void *mp_userdata_new(lua_State *L, size_t size, const void *key,
		      lua_CFunction gc)
{
  void *p = memset(lua_newuserdata(L, size), 0, size);
  lua_createtable(L, KEY, 1);
  lua_pushlightuserdata(L, (void *)(size_t)key);
  lua_rawseti(L, -2, KEY);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return p;
}

void *mp_userdata_get(lua_State *L, int index, const void *key)
{
  bool ours;
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
    return NULL;
  lua_rawgeti(L, -1, KEY);
  ours = lua_touserdata(L, -1) == key;
  lua_pop(L, 2);
  return ours ? lua_touserdata(L, index) : NULL;
}
