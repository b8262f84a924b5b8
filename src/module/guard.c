/* SPDX-License-Identifier: MIT */
/*
** See module/guard.h.
*/
#include "config.h"

#include <stdatomic.h>

#include "data/lock.h"
#include "data/process.h"
#include "heapwalk/walk.h"
#include "module/guard.h"
#include "module/userdata.h"
#include "native/native.h"
#include "process/callback.h"
#include "process/ends.h"
#include "process/inherit.h"
#include "process/intercept.h"
#include "process/signal.h"
#include "profile/leaks.h"
#include "profile/memory.h"
#include "profile/point.h"
#include "report/write.h"
#include "sample/hook.h"
#include "vm/cfunction.h"

#include "lauxlib.h"

static char guard_key;		/* Of the registry. */

#define LOADED_BY "_LOADLIB"	/* LuaJIT's: metatable of what it has loaded. */

/* Pushes what the registry has, and returns it if it is the guard. */
static mp_guard *push_guard(lua_State *L)
{
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  return mp_userdata_get(L, -1, &guard_key);
}

static mp_guard *get_guard(lua_State *L)
{
  mp_guard *g = push_guard(L);
  lua_pop(L, 1);
  return g;
}

mp_ctx *mp_guard_get(lua_State *L)
{
  mp_guard *g = get_guard(L);
  return g ? g->run : NULL;
}

mp_ctx *mp_guard_running(lua_State *L)
{
  mp_ctx *c = mp_guard_get(L);
  if (c == NULL) return NULL;
  mp_inherit_settle(c);
  return !c->final.done && c->profile.span.pid == mp_process_self() ? c : NULL;
}

void mp_guard_push(lua_State *L)
{
  if (push_guard(L) != NULL) return;
  lua_pop(L, 1);
  lua_pushnil(L);
}

static void put_aside(mp_guard *g, mp_ctx *c)
{
  c->next = g->stuck;
  g->stuck = c;
}

mp_ctx *mp_guard_new(mp_guard *g, lua_State *L)
{
  mp_ctx *c = g->spare;
  g->spare = NULL;
  if (c != NULL && mp_hook_kept(c->profile.heap, L)) {
    put_aside(g, c);
    c = NULL;
  }
  return mp_ctx_new(c);
}

void mp_guard_drop(mp_guard *g, mp_ctx *c)
{
  mp_ctx_end(c);
  if (g->spare != NULL) mp_ctx_bury(g->spare);
  g->spare = c;
}

/* The guard's environment has a table for each run, with the values that are
** kept from the collector even if the program empties the registry. A start may
** find that another one has succeeded within it: that run keeps its own. */
enum { ANCHOR = 1, CALLBACK };

/* Pushes the run's table. Raises Lua errors. */
static void push_kept(mp_ctx *c, lua_State *L)
{
  mp_guard *g = push_guard(L);
  if (g == NULL) luaL_error(L, "jit.mp: the program has taken the profiler's "
			    "guard away");
  lua_getfenv(L, -1);
  if (c->kept == 0) {
    lua_createtable(L, CALLBACK, 0);
    lua_rawseti(L, -2, ++g->kept);
    c->kept = g->kept;
  }
  lua_rawgeti(L, -1, c->kept);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Keeps the value on top of the stack, which stays there. */
static void keep(mp_ctx *c, lua_State *L, int index)
{
  push_kept(c, L);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, index);
  lua_pop(L, 1);
}

void mp_guard_release(mp_ctx *c, lua_State *L)
{
  c->callback.thread = NULL;
  if (c->kept == 0) return;
  if (push_guard(L) != NULL) {
    lua_getfenv(L, -1);
    lua_pushnil(L);
    lua_rawseti(L, -2, c->kept);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  c->kept = 0;
}

void mp_guard_leave(void)
{
  mp_lock();
  if (mp_ctx_list() == NULL) {
    mp_signal_leave();
    mp_intercept_end();
  }
  mp_unlock();
}

/* Takes the run out of the list, and its coroutines out of the VM. */
static void let_go(mp_ctx *c, lua_State *L)
{
  mp_ctx_delist(c);
  mp_guard_release(c, L);
}

static void stop_samplers(mp_ctx *c, lua_State *L)
{
  mp_alloc_finish(c->profile.heap);  /* No allocation follows the last one. */
  if (!mp_calls_stop(&c->profile.calls, L))
    mp_notes_add(&c->profile.notes, "calls were counted until the program set "
		 "a hook of its own (debug.sethook)");
  mp_waits_stop(&c->profile.waits, &c->profile.capture);
  mp_native_stop(&c->profile.capture);
  mp_compiler_stop(&c->profile.compiler, L);
  mp_cpu_stop(&c->profile.cpu, L);
}

static int end_run(mp_guard *g, lua_State *L, char *buf, size_t n)
{
  mp_ctx *c = g->run;
  bool removed;
  int err;
  g->run = NULL;
  mp_ctx_await(c);
  /* The report is made after the samplers were stopped. */
  stop_samplers(c, L);
  removed = mp_hook_remove(c->profile.heap, L);
  mp_point_force(&c->profile);
  err = mp_final_report(c, buf, n);
  let_go(c, L);
  mp_guard_leave();
  if (removed) {
    mp_guard_drop(g, c);
  } else {
    mp_ctx_end(c);
    put_aside(g, c);
  }
  return err;
}

int mp_guard_end(lua_State *L, char *buf, size_t n)
{
  return end_run(get_guard(L), L, buf, n);
}

int mp_guard_stop(lua_State *L, char *buf, size_t n)
{
  mp_ctx *c = mp_guard_get(L);
  int err;
  mp_ctx_await(c);
  /* The time of the last collection and of the walk is not the program's. */
  mp_waits_stop(&c->profile.waits, &c->profile.capture);
  mp_leaks_collect(&c->profile, L);
  if (mp_guard_get(L) != c) return 0;  /* A finalizer has ended it. */
  if (c->plan.memory) mp_memory_take(&c->profile, &c->report.state->memory);
  mp_heapwalk_refresh(&c->profile, L, &c->plan.walk, MP_AT_END);
  mp_signal_hold();
  err = mp_guard_end(L, buf, n);
  mp_signal_release();
  return err;
}

mp_ctx *mp_guard_detach(lua_State *L)
{
  mp_guard *g = get_guard(L);
  mp_ctx *c = g->run;
  if (!mp_hook_removable(c->profile.heap, L)) return NULL;
  g->run = NULL;
  mp_ctx_await(c);
  stop_samplers(c, L);
  mp_hook_remove(c->profile.heap, L);
  mp_point_force(&c->profile);
  mp_alloc_freeze(c->profile.heap);
  mp_span_end(&c->profile.span, mp_cpu_time(&c->profile.cpu));
  let_go(c, L);
  return c;
}

static int guard_gc(lua_State *L)
{
  mp_guard *g = mp_userdata_get(L, 1, &guard_key);
  mp_ctx *c, *next;
  char msg[512];
  if (g == NULL) return 0;  /* The program calls. */
  c = g->run;
  if (c != NULL) {
    mp_ctx_await(c);
    mp_waits_stop(&c->profile.waits, &c->profile.capture);
    if (c->plan.memory)
      mp_memory_take(&c->profile, &c->report.state->memory);
    mp_heapwalk_refresh(&c->profile, L, &c->plan.walk, MP_CLOSING);
    mp_signal_hold_at_end();
    if (end_run(g, L, msg, sizeof(msg)) != 0) mp_say(msg);
    mp_signal_release_at_end();
  }
  mp_ctx_bury(g->spare);
  for (c = g->stuck; c != NULL; c = next) {
    next = c->next;
    mp_ctx_bury(c);
  }
  *g = (mp_guard){ .number = g->number, .kept = g->kept };
  return 0;
}

static unsigned next_number(void)
{
  static atomic_uint last;
  return ++last;
}

mp_guard *mp_guard_make(lua_State *L)
{
  mp_guard *g = get_guard(L);
  if (g != NULL) return g;
  lua_pushlightuserdata(L, &guard_key);
  g = mp_userdata_new(L, sizeof(*g), &guard_key, guard_gc);
  g->number = next_number();
  lua_newtable(L);
  lua_setfenv(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return g;
}

/* A module of the program may have the wrapper of C functions, and lua_close
** unloads the module before it collects the guard: the guard's finalizer must
** not be called through that wrapper. */
void mp_guard_unwrap(lua_State *L)
{
  int top = lua_gettop(L);
  mp_guard *g = get_guard(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LOADED_BY);
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (g != NULL && lua_istable(L, top + 1) && lua_getmetatable(L, top + 2)) {
    lua_pushliteral(L, "__gc");
    lua_rawget(L, -2);
    lua_pushliteral(L, "__gc");
    lua_rawget(L, top + 1);
    if (lua_iscfunction(L, -1))
      mp_cfunction_unwrap((void *)lua_topointer(L, -2), guard_gc,
			  lua_topointer(L, -1));
  }
  lua_settop(L, top);
}

/* The anchor is a coroutine: using it touches no stack of the program. It is
** younger than jit.zone's table, so the collector takes it first. */
static void make_anchor(mp_ctx *c, lua_State *L)
{
  lua_State *anchor;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jit.zone");
  if (lua_pcall(L, 1, 1, 0) != 0) {
    lua_pop(L, 1);
    lua_pushnil(L);
    mp_notes_add(&c->profile.notes,
		 "no zones: the module jit.zone was not found when the profile "
		 "began");
  }
  anchor = lua_newthread(L);
  keep(c, L, ANCHOR);
  lua_checkstack(anchor, 4);
  lua_pushvalue(L, -2);
  lua_xmove(L, anchor, 1);
  mp_capture_anchor(&c->profile.capture, anchor);
  lua_pop(L, 2);
}

void mp_guard_coroutines(mp_ctx *c, lua_State *L)
{
  make_anchor(c, L);
  if (!mp_callback_take(c, L)) return;
  keep(c, L, CALLBACK);
  c->profile.capture.mate = c->callback.thread;
  lua_pop(L, 1);
}
