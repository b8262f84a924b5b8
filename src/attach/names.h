/* SPDX-License-Identifier: MIT */
/*
** The functions of LuaJIT that the profiler's module calls, in order. The last
** list has those that it can do without, and only looks for.
*/
#ifndef MP_NAMES_H
#define MP_NAMES_H

#define MP_NAMES(_) \
  _(luaJIT_profile_dumpstack) _(luaJIT_profile_start) \
  _(luaJIT_profile_stop) _(luaJIT_setmode) _(luaL_addlstring) \
  _(luaL_addstring) _(luaL_argerror) _(luaL_buffinit) \
  _(luaL_checkany) _(luaL_checklstring) _(luaL_checknumber) \
  _(luaL_checkstack) _(luaL_checktype) _(luaL_checkudata) \
  _(luaL_error) _(luaL_getmetafield) _(luaL_gsub) _(luaL_loadbuffer) \
  _(luaL_loadfile) _(luaL_loadstring) _(luaL_newmetatable) \
  _(luaL_newstate) _(luaL_openlibs) _(luaL_optlstring) _(luaL_optnumber) \
  _(luaL_prepbuffer) _(luaL_pushresult) _(luaL_ref) _(luaL_register) \
  _(luaL_where) _(lua_call) _(lua_checkstack) _(lua_close) \
  _(lua_concat) _(lua_cpcall) _(lua_createtable) _(lua_dump) \
  _(lua_error) _(lua_gc) _(lua_getallocf) _(lua_getfenv) \
  _(lua_getfield) _(lua_gethook) _(lua_gethookcount) \
  _(lua_gethookmask) _(lua_getinfo) _(lua_getmetatable) \
  _(lua_getstack) _(lua_gettop) _(lua_insert) _(lua_iscfunction) \
  _(lua_isnumber) _(lua_isstring) _(lua_newstate) _(lua_newthread) \
  _(lua_newuserdata) _(lua_next) _(lua_objlen) _(lua_pcall) \
  _(lua_pushboolean) _(lua_pushcclosure) _(lua_pushfstring) \
  _(lua_pushinteger) _(lua_pushlightuserdata) _(lua_pushlstring) \
  _(lua_pushnil) _(lua_pushnumber) _(lua_pushstring) \
  _(lua_pushthread) _(lua_pushvalue) _(lua_rawequal) _(lua_rawget) \
  _(lua_rawgeti) _(lua_rawset) _(lua_rawseti) _(lua_remove) \
  _(lua_replace) _(lua_resume) _(lua_setallocf) _(lua_setfenv) \
  _(lua_setfield) _(lua_sethook) _(lua_setmetatable) _(lua_settable) \
  _(lua_settop) _(lua_toboolean) _(lua_tocfunction) _(lua_tointeger) \
  _(lua_tolstring) _(lua_tonumber) _(lua_topointer) \
  _(lua_touserdata) _(lua_type) _(lua_typename) _(lua_xmove)

#define MP_NAMES_LOOKED_FOR(_) _(lua_resetthread)

#endif
