/* SPDX-License-Identifier: MIT */
/*
** See process/callback.h.
*/
#include "config.h"

#include <stdio.h>

#include "process/callback.h"
#include "report/write.h"
#include "vm/dispatch.h"

#include "lauxlib.h"
#include "luajit.h"

/* In the coroutine: */
enum { FUNCTION = 1, NOTHING };  /* the program's function, and one of ours */
				 /* without effect. */

bool mp_callback_take(mp_ctx *c, lua_State *L)
{
  if (!lua_istable(L, 1)) return false;
  lua_pushliteral(L, "callback");
  lua_rawget(L, 1);
  if (lua_isfunction(L, -1)) {
    c->callback.thread = lua_newthread(L);
    lua_insert(L, -2);
    lua_xmove(L, c->callback.thread, 1);
    if (luaL_loadstring(c->callback.thread, "return") != 0)
      luaL_error(L, "jit.mp: not enough memory");
    return true;
  }
  if (!lua_isnil(L, -1))
    luaL_error(L, "jit.mp: the field 'callback' must be a function, not a %s",
	       luaL_typename(L, -1));
  lua_pop(L, 1);
  return false;
}

/* Aborts a recording, because the compiler must not record the callback: no
** mode is changed. */
static void abort_recording(lua_State *L)
{
  luaJIT_setmode(L, 0, LUAJIT_MODE_MASK);
}

/* The compiler ends an aborted recording at the next instruction that it sees,
** and refers to a trace then, which the callback's jit.flush() would remove. */
static void end_recording(const mp_vm *vm, lua_State *T)
{
  if (!mp_dispatch_flip(vm)) return;
  lua_pushvalue(T, NOTHING);
  if (lua_pcall(T, 0, 0, 0) != 0) lua_pop(T, 1);
  mp_dispatch_flip(vm);
}

static void say_error(lua_State *T)
{
  char msg[400];
  snprintf(msg, sizeof(msg), "the callback failed, and is not called again: "
	   "%.300s", lua_isstring(T, -1) ? lua_tostring(T, -1) : "an error "
	   "without a message");
  mp_say(msg);
}

void mp_callback_call(mp_ctx *c, lua_State *L, int samples, int state)
{
  mp_profile *p = &c->profile;
  lua_State *T = c->callback.thread;
  char letter = (char)state;
  uint64_t bytes = mp_alloc_bytes(p->heap);
  if (T == NULL || p->busy || mp_alloc_frozen(p->heap) ||
      !lua_checkstack(L, 1))
    return;
  p->busy = true;
  mp_alloc_freeze(p->heap);
  abort_recording(L);
  end_recording(mp_alloc_vm(p->heap), T);
  lua_pushvalue(T, FUNCTION);
  lua_pushthread(L);
  lua_xmove(L, T, 1);
  lua_pushinteger(T, samples);
  lua_pushlstring(T, &letter, 1);
  lua_pushnumber(T, (double)(bytes - c->callback.reported));
  c->callback.reported = bytes;
  if (lua_pcall(T, 4, 0, 0) != 0) {
    say_error(T);
    c->callback.thread = NULL;
  }
  abort_recording(L);
  mp_alloc_thaw(p->heap);
  p->busy = false;
  mp_cpu_count_own(&p->cpu, "(profile callback)");
}
