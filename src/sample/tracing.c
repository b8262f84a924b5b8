/* SPDX-License-Identifier: MIT */
/*
** See sample/tracing.h.
*/
#include "config.h"

#include <string.h>

#include "data/clock.h"
#include "sample/decided.h"
#include "sample/tracing.h"
#include "vm/frame.h"
#include "vm/layout.h"

#include "lauxlib.h"

/* Of the registry: the VM's mp_compiler, and the event's handler. */
static char compiler_key, handler_key;

static uint32_t param(const mp_compiler *c, const char *name)
{
  int i;
  for (i = 0; i < MP_JIT_PARAMS; i++) {
    int32_t value;
    const char *s = c->capture->vm->proved ?
		    mp_jitstate_param(c->capture->vm, i, &value) : NULL;
    if (s != NULL && strcmp(s, name) == 0) return (uint32_t)value;
  }
  return 0;
}

/* Comes when the traces are gone. */
static void on_flush(mp_compiler *c)
{
  uint32_t most = param(c, "maxtrace");
  mp_decided_settle(c);
  c->pending = (mp_flush){
    mp_clock_wall(),
    c->last >= 0 ? MP_FLUSH_GIVEUP :
    most > 0 && c->live >= most ? MP_FLUSH_TRACES : MP_FLUSH_ASKED,
    c->last, 1
  };
  c->flushing = true;
}

static void on_start(mp_compiler *c, lua_State *L)
{
  uint32_t number = (uint32_t)lua_tointeger(L, 2);
  mp_decided_settle(c);
  c->started++;
  if (c->lists) mp_listing_begin(&c->listing);
  if (number < MP_TRACE_NUMBERS) mp_decided_lose(c, number);
  c->start = mp_decided_place(c->capture, L, 3);
  c->startpt = NULL;
#ifdef MP_LAYOUT
  if (c->capture->vm->proved && lua_isfunction(L, 3) && !lua_iscfunction(L, 3))
    c->startpt = func_proto(lua_topointer(L, 3));
#endif
  c->pos = (uint32_t)lua_tointeger(L, 4);
  c->side = lua_isnumber(L, 5) && lua_tointeger(L, 6) >= 0;
}

static void on_abort(mp_compiler *c, lua_State *L)
{
  mp_giveup g = { .detail = -1, .reason = -1, .count = 1 };
  c->aborted++;
  g.start = c->start;
  g.proto = c->startpt;
  g.pos = c->pos;
  g.side = c->side;
  g.final = !c->side && mp_decided_for_good(c->startpt, c->pos);
  g.wall = mp_clock_wall();
  g.at = mp_decided_place(c->capture, L, 3);
  if (lua_type(L, 5) == LUA_TNUMBER) g.reason = (int32_t)lua_tointeger(L, 5);
  if (lua_type(L, 6) == LUA_TNUMBER) g.detail = (int32_t)lua_tonumber(L, 6);
  else if (lua_isfunction(L, 6))
    g.function = mp_decided_place(c->capture, L, 6);
  mp_decided_giveup(c, &g);
  c->last = g.reason;
}

static void on_stop(mp_compiler *c, lua_State *L)
{
  uint32_t number = (uint32_t)lua_tointeger(L, 2);
  c->stopped++;
  if (c->capture->vm->proved && number < MP_TRACE_NUMBERS)
    mp_decided_trace(c, number);
  if (c->lists && c->capture->vm->proved && number < MP_TRACE_NUMBERS)
    mp_decided_list(c, number);
}

/* An instruction is recorded: after the trace's number the event has a
** function, the instruction's number, and how deep the call is. */
static void on_record(mp_compiler *c, lua_State *L)
{
#ifdef MP_LAYOUT
  const char *fn = lua_topointer(L, 2);
  uint32_t depth = (uint32_t)lua_tointeger(L, 4);
  if (!c->lists || !c->capture->vm->proved || !lua_isfunction(L, 2)) return;
  if (func_proto(fn) != NULL)
    mp_listing_bytecode(&c->listing, func_proto(fn),
			(uint32_t)lua_tointeger(L, 3), depth);
  else
    mp_listing_builtin(&c->listing, AT(const uint8_t, fn, FUNC_FFID), depth);
#else
  (void)c; (void)L;
#endif
}

/* The handler of the events "trace" and "record": the arguments are those that
** jit.v and jit.dump take. */
static int on_trace(lua_State *L)
{
  const char *what = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
  mp_compiler *c;
  lua_pushlightuserdata(L, &compiler_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  c = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (c == NULL || !c->listens) return 0;
  mp_capture_enter(c->capture);
  if (lua_type(L, 1) == LUA_TNUMBER) {
    on_record(c, L);
    mp_capture_leave(c->capture);
    return 0;
  }
  if (strcmp(what, "flush") == 0) on_flush(c);
  else if (strcmp(what, "start") == 0) on_start(c, L);
  else if (strcmp(what, "stop") == 0) on_stop(c, L);
  if (strcmp(what, "abort") == 0) on_abort(c, L);
  else c->last = -1;
  if (strcmp(what, "start") != 0) c->startpt = NULL;  /* It may be freed now. */
  mp_capture_leave(c->capture);
  return 0;
}

/* The key of an event in LuaJIT's table of handlers. */
static int event_key(const char *name)
{
  uint32_t h = (uint32_t)strlen(name);
  for (; *name != '\0'; name++) h ^= (h << 6 | h >> 26) + (uint8_t)*name;
  return (int)(h << 3);
}

const void *mp_tracing_handler(lua_State *L, const char *event)
{
  const void *f = NULL;
  lua_getfield(L, LUA_REGISTRYINDEX, "_VMEVENTS");
  if (lua_istable(L, -1)) {
    lua_rawgeti(L, -1, event_key(event));
    f = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return f;
}

/* The program may have set a handler of its own since. */
void mp_tracing_look(mp_compiler *c)
{
  lua_State *L = c->capture->anchor;
  if (c->listens && L != NULL && mp_tracing_handler(L, "trace") != c->handler)
    c->why = "the program has set a handler of its own (jit.attach) since";
  if (c->listens && c->lists && c->unlisted == NULL && L != NULL &&
      mp_tracing_handler(L, "record") != c->handler)
    c->unlisted = "bytecode is missing since the program has set a handler "
		  "of its own for it (jit.attach)";
}

/* Pushes LuaJIT's jit.attach. False: the program has put another thing there,
** and nothing is pushed. */
static bool push_attach(lua_State *L)
{
  int top = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "jit");
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "attach");
    lua_rawget(L, -2);
  }
  if (!lua_iscfunction(L, -1)) {
    lua_settop(L, top);
    return false;
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return true;
}

static void set_key(lua_State *L, char *key, int value)
{
  lua_pushlightuserdata(L, key);
  lua_pushvalue(L, value);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* For listings: attaches the function at 3 to the event "record", too, if the
** program has no handler of it. jit.attach is at 2. */
static void listen_to_records(mp_compiler *c, lua_State *L)
{
  if (!c->capture->vm->proved) {
    c->unlisted = "where this LuaJIT keeps them is not known";
    return;
  }
  if (mp_tracing_handler(L, "record") != NULL) {
    c->unlisted = "bytecode is missing, as the program has a handler of its "
		  "own for it (jit.attach)";
    return;
  }
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_pushliteral(L, "record");
  lua_call(L, 2, 0);
}

/* Holds the names of the events: LuaJIT would make each anew, in the program's
** heap, whenever it has been collected. */
static void push_handler(lua_State *L)
{
  lua_pushliteral(L, "start");
  lua_pushliteral(L, "stop");
  lua_pushliteral(L, "abort");
  lua_pushliteral(L, "flush");
  lua_pushcclosure(L, on_trace, 4);
}

static int listen(lua_State *L)
{
  mp_compiler *c = lua_touserdata(L, 1);
  if (mp_tracing_handler(L, "trace") != NULL) {
    c->why = "the program has a handler of its own (jit.attach)";
    return 0;
  }
  if (!push_attach(L)) {
    c->why = "jit.attach is not LuaJIT's";
    return 0;
  }
  push_handler(L);
  c->handler = lua_topointer(L, -1);
  set_key(L, &compiler_key, 1);
  set_key(L, &handler_key, 3);
  if (c->lists) listen_to_records(c, L);
  lua_pushliteral(L, "trace");
  c->listens = c->heard = true;
  lua_call(L, 2, 0);
  return 0;
}

static int listen_no_more(lua_State *L)
{
  lua_settop(L, 0);
  lua_pushnil(L);
  set_key(L, &compiler_key, 1);
  if (!push_attach(L)) return 0;
  lua_pushlightuserdata(L, &handler_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  set_key(L, &handler_key, 1);
  if (lua_isfunction(L, -1)) lua_call(L, 1, 0);
  return 0;
}

void mp_tracing_start(mp_compiler *c, lua_State *L)
{
  if (lua_cpcall(L, listen, c) == 0) return;
  c->listens = c->heard = false;
  c->why = "jit.attach failed";
  lua_pop(L, 1);
}

void mp_tracing_stop(mp_compiler *c, lua_State *L)
{
  if (!c->listens) return;
  c->listens = false;
  if (lua_cpcall(L, listen_no_more, NULL) != 0) lua_pop(L, 1);
}
