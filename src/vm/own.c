/* SPDX-License-Identifier: MIT */
/*
** See vm/own.h.
*/
#include "config.h"

#include "vm/own.h"

#include "lualib.h"

/* Upvalues: LuaJIT's function, and the address of the flag. */
static int open_ffi(lua_State *L)
{
  bool *half_open = lua_touserdata(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  *half_open = true;
  lua_call(L, lua_gettop(L) - 1, 1);
  *half_open = false;
  return 1;
}

static bool watch_ffi(lua_State *L, bool *half_open)
{
  bool has;
  lua_getfield(L, LUA_REGISTRYINDEX, "_PRELOAD");
  lua_getfield(L, -1, "ffi");
  has = lua_isfunction(L, -1);
  if (has) {
    lua_pushlightuserdata(L, half_open);
    lua_pushcclosure(L, open_ffi, 2);
    lua_setfield(L, -2, "ffi");
  } else {
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return has;
}

bool mp_own_open(lua_State *L, bool *ffi_half_open)
{
  *ffi_half_open = false;
  lua_pushboolean(L, 1);  /* For libluajit-mp-preload. */
  lua_setfield(L, LUA_REGISTRYINDEX, "jit.mp.private");
  luaL_openlibs(L);
  return watch_ffi(L, ffi_half_open);
}

void mp_own_close(lua_State *L, bool ffi_half_open)
{
  if (ffi_half_open) lua_setallocf(L, NULL, NULL);
  else lua_close(L);
}
