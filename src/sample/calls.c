/* SPDX-License-Identifier: MIT */
/*
** See sample/calls.h.
*/
#include "config.h"

#include <stddef.h>

#include "sample/calls.h"

#include "luajit.h"

static char key;		/* Of the registry: the mp_calls of the VM. */

static void set(lua_State *L, mp_calls *c)
{
  lua_pushlightuserdata(L, &key);
  if (c != NULL) lua_pushlightuserdata(L, c);
  else lua_pushnil(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* The row of the call, which is at the top of the stack. */
static uint32_t row_of_call(const mp_calls *c, lua_State *L)
{
  return c->capture->vm->proved || mp_cpu_has_buffer(c->cpu) ?
	 mp_capture_call(c->capture, L) :
	 mp_capture_named(c->capture, "(not known)", 'I');
}

/* The function that was called is on top of the stack. */
static void on_call(lua_State *L, lua_Debug *ar)
{
  mp_calls *c;
  uint32_t row;
  (void)ar;
  lua_pushlightuserdata(L, &key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  c = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (c == NULL || !c->on) return;
  row = row_of_call(c, L);
  if (row != 0) c->capture->counts->rows[row].calls++;
  else c->dropped++;
}

/* Whether jit.status() says so. */
static bool is_compiling(lua_State *L)
{
  int top = lua_gettop(L);
  bool on = false;
  lua_getglobal(L, "jit");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "status");
    on = lua_pcall(L, 0, 1, 0) == 0 && lua_toboolean(L, -1);
  }
  lua_settop(L, top);
  return on;
}

static int set_mode(lua_State *L)
{
  const int *mode = lua_touserdata(L, 1);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | *mode);
  return 0;
}

/* False: a finalizer runs, where that is an error. */
static bool try_mode(lua_State *L, int mode)
{
  if (lua_cpcall(L, set_mode, &mode) == 0) return true;
  lua_pop(L, 1);
  return false;
}

bool mp_calls_start(mp_calls *c, lua_State *L)
{
  if (lua_gethookmask(L) != 0) return false;
  c->was_compiling = is_compiling(L);
  if (!try_mode(L, LUAJIT_MODE_OFF)) return false;
  try_mode(L, LUAJIT_MODE_FLUSH);
  set(L, c);
  c->on = true;
  lua_sethook(L, on_call, LUA_MASKCALL, 0);
  return true;
}

bool mp_calls_stop(mp_calls *c, lua_State *L)
{
  bool ours = lua_gethook(L) == on_call && lua_gethookmask(L) == LUA_MASKCALL;
  if (!c->on) return true;
  c->on = false;
  if (ours) lua_sethook(L, NULL, 0, 0);
  if (c->was_compiling) try_mode(L, LUAJIT_MODE_ON);
  set(L, NULL);
  return ours;
}
