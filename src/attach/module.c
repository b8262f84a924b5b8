/* SPDX-License-Identifier: MIT */
/*
** jit.mp.attach: sessions (attach/session.h) for the command luajit-mp.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/layout.h"

#include "lua.h"
#include "lauxlib.h"

/* The parts that know processes know these processors only. */
#if defined(MP_LAYOUT)
#include "attach/heap.h"
#include "attach/outside.h"
#include "attach/receive.h"
#include "attach/session.h"
#include "data/clock.h"

#define TYPE	"luajit-mp session"
#define OUTSIDE	"luajit-mp look from outside"

static volatile int ended;	/* The user has ended the session. */

static void on_signal(int sig)
{
  (void)sig;
  ended = 1;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct sigaction old[NSIGNALS];

/* From now on these signals end the session. */
static void take_signals(void)
{
  struct sigaction sa;
  size_t i;
  memset(&sa, 0, sizeof(sa));
  sa.sa_handler = on_signal;
  sigemptyset(&sa.sa_mask);
  for (i = 0; i < NSIGNALS; i++) sigaction(signals[i], &sa, &old[i]);
}

/* leave_signals(): from now on they end the command at once, but for those that
** were ignored, as by nohup. */
static int leave_signals(lua_State *L)
{
  size_t i;
  (void)L;
  for (i = 0; i < NSIGNALS; i++)
    signal(signals[i], old[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
  return 0;
}

static mp_session *check(lua_State *L) { return luaL_checkudata(L, 1, TYPE); }

static int fail(lua_State *L, const mp_session *s)
{
  lua_pushnil(L);
  lua_pushstring(L, s->msg);
  return 2;
}

static int answer(lua_State *L, mp_session *s, bool ok)
{
  if (!ok) return fail(L, s);
  lua_pushboolean(L, 1);
  return 1;
}

/* open(pid, library): a session; or nil and a message. */
static int session_open(lua_State *L)
{
  pid_t pid = (pid_t)luaL_checkinteger(L, 1);
  const char *library = luaL_checkstring(L, 2);
  mp_session *s = lua_newuserdata(L, sizeof(*s));
  memset(s, 0, sizeof(*s));
  s->pidfd = s->fd = -1;
  luaL_getmetatable(L, TYPE);
  lua_setmetatable(L, -2);
  take_signals();
  return mp_session_open(s, pid, library, &ended) ? 1 : fail(L, s);
}

/* Pushes a list of { bytes, chunk, profiled }. s: NULL, or whose they are. */
static void push_states(lua_State *L, const mp_session *s, const mp_found *list,
			int n)
{
  int i;
  lua_newtable(L);
  for (i = 0; i < n && i < MP_STATES_MAX; i++) {
    lua_newtable(L);
    lua_pushnumber(L, (lua_Number)list[i].bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushstring(L, list[i].chunk);
    lua_setfield(L, -2, "chunk");
    lua_pushboolean(L, s != NULL && mp_session_profiled(s, i));
    lua_setfield(L, -2, "profiled");
    lua_rawseti(L, -2, i + 1);
  }
}

/* states(): the list of them. */
static int session_states(lua_State *L)
{
  const mp_session *s = check(L);
  push_states(L, s, s->states, s->nstates);
  return 1;
}

/* start(state, options, path, seconds): true; or nil, a message, and whether
** more time might help. */
static int session_start(lua_State *L)
{
  mp_session *s = check(L);
  int state = (int)luaL_checkinteger(L, 2);
  bool late;
  luaL_argcheck(L, state >= 1 && state <= s->nstates &&
		state <= MP_STATES_MAX, 2, "no such state");
  if (mp_session_start(s, state - 1, luaL_checkstring(L, 3),
		       luaL_checkstring(L, 4), luaL_checknumber(L, 5), &ended,
		       &late))
    return answer(L, s, true);
  fail(L, s);
  lua_pushboolean(L, late);
  return 3;
}

/* wait(seconds): "time", "signal" or "end". */
static int session_wait(lua_State *L)
{
  bool there = mp_session_wait(check(L), luaL_checknumber(L, 2), &ended);
  lua_pushstring(L, !there ? "end" : ended ? "signal" : "time");
  return 1;
}

/* stop(seconds): true, and "complete", "partial", or "gone" for one that may be
** missing; or nil and a message. A second signal gives it up. */
static int session_stop(lua_State *L)
{
  mp_session *s = check(L);
  ended = 0;
  if (!mp_session_stop(s, luaL_checknumber(L, 2), &ended)) return fail(L, s);
  lua_pushboolean(L, 1);
  lua_pushstring(L, s->partial ? "partial" : s->gone ? "gone" : "complete");
  return 2;
}

/* write(seconds): true; or nil and a message. */
static int session_write(lua_State *L)
{
  mp_session *s = check(L);
  return answer(L, s, mp_session_write(s, luaL_checknumber(L, 2), &ended));
}

static void push_file(lua_State *L, int fd)
{
  luaL_Buffer b;
  off_t at = 0;
  ssize_t n;
  luaL_buffinit(L, &b);
  while (at < MP_RECEIVE_MAX &&
	 (n = pread(fd, luaL_prepbuffer(&b), LUAL_BUFFERSIZE, at)) > 0) {
    luaL_addsize(&b, (size_t)n);
    at += n;
  }
  luaL_pushresult(&b);
}

/* read(): the profile, the text of an .mp file, which may be empty. */
static int session_read(lua_State *L)
{
  mp_session *s = check(L);
  push_file(L, s->fd);
  if (!mp_session_steady(s)) push_file(L, s->fd);
  return 1;
}

static int session_gc(lua_State *L)
{
  mp_session_close(check(L));
  return 0;
}

/* -- From outside ---------------------------------------------------------- */

static mp_outside *check_outside(lua_State *L)
{
  return luaL_checkudata(L, 1, OUTSIDE);
}

static int fail_outside(lua_State *L, const mp_outside *o)
{
  lua_pushnil(L);
  lua_pushstring(L, o->msg);
  return 2;
}

/* outside(pid): what looks at it from outside; or nil and a message. */
static int outside_open(lua_State *L)
{
  pid_t pid = (pid_t)luaL_checkinteger(L, 1);
  mp_outside *o = lua_newuserdata(L, sizeof(*o));
  memset(o, 0, sizeof(*o));
  o->pidfd = o->ticks = -1;
  luaL_getmetatable(L, OUTSIDE);
  lua_setmetatable(L, -2);
  take_signals();
  return mp_outside_open(o, pid, &ended) ? 1 : fail_outside(L, o);
}

static int outside_states(lua_State *L)
{
  const mp_outside *o = check_outside(L);
  push_states(L, NULL, o->states, o->nstates);
  return 1;
}

/* choose(state, interval): true; or nil and a message. */
static int outside_choose(lua_State *L)
{
  mp_outside *o = check_outside(L);
  int state = (int)luaL_checkinteger(L, 2);
  luaL_argcheck(L, state >= 1 && state <= o->nstates &&
		state <= MP_STATES_MAX, 2, "no such state");
  if (!mp_outside_choose(o, state - 1, luaL_checknumber(L, 3)))
    return fail_outside(L, o);
  lua_pushboolean(L, 1);
  return 1;
}

/* sample(): nothing; or of a sample the VM's state as a letter, "idle" or
** "lost". Then frames() has its frames, but for these two. */
static int outside_sample(lua_State *L)
{
  mp_outside *o = check_outside(L);
  mp_far_place place;
  if (!mp_outside_sample(o, &place)) return 0;
  if (place == MP_FAR_FOUND) lua_pushlstring(L, &o->stack.state, 1);
  else lua_pushstring(L, place == MP_FAR_IDLE ? "idle" : "lost");
  return 1;
}

static void push_line(lua_State *L, const char *key, int32_t line)
{
  if (line < 0) return;
  lua_pushinteger(L, line);
  lua_setfield(L, -2, key);
}

/* Sets what is known of a C function: its library and its place in that. */
static void push_cfunction(lua_State *L, const mp_maps *m, uint64_t code)
{
  const mp_mapping *a = mp_maps_find(m, code);
  uint64_t base = code;
  int i;
  if (a == NULL || a->inode == 0) return;
  for (i = m->n - 1; i >= 0; i--)
    if (mp_maps_same(&m->list[i], a)) base = m->list[i].from;
  lua_pushstring(L, strrchr(a->path, '/') != NULL ?
		 strrchr(a->path, '/') + 1 : a->path);
  lua_setfield(L, -2, "source");
  lua_pushnumber(L, (lua_Number)(code - base));
  lua_setfield(L, -2, "code");
}

/* frames(): a list of the frames of a snapshot (profile/snapshot.h), the top
** one first, but with the names of chunks for sources, and the objects of C
** functions; and whether there were more. */
static int outside_frames(lua_State *L)
{
  const mp_outside *o = check_outside(L);
  int i;
  lua_newtable(L);
  for (i = 0; i < o->stack.n; i++) {
    const mp_far_frame *f = &o->stack.frames[i];
    lua_newtable(L);
    lua_pushstring(L, f->code != 0 ? "C" : "Lua");
    lua_setfield(L, -2, "kind");
    if (f->code != 0) {
      push_cfunction(L, &o->maps, f->code);
      lua_pushnumber(L, (lua_Number)f->object);
      lua_setfield(L, -2, "object");
    } else {
      lua_pushstring(L, f->source);
      lua_setfield(L, -2, "source");
      push_line(L, "line", f->line);
      push_line(L, "linedefined", f->linedefined);
    }
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushboolean(L, o->stack.cut);
  return 2;
}

/* functions(): a list of the C functions that have names: object, name, and
** whether it is a builtin. One may be there several times. */
static int outside_functions(lua_State *L)
{
  mp_far_function *list;
  int i, n = mp_outside_functions(check_outside(L), &list);
  lua_newtable(L);
  for (i = 0; i < n; i++) {
    lua_newtable(L);
    lua_pushnumber(L, (lua_Number)list[i].object);
    lua_setfield(L, -2, "object");
    lua_pushstring(L, list[i].name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, list[i].builtin);
    lua_setfield(L, -2, "builtin");
    lua_rawseti(L, -2, i + 1);
  }
  free(list);
  return 1;
}

/* wait(): "time", "signal" or "end". */
static int outside_wait(lua_State *L)
{
  bool there = mp_outside_wait(check_outside(L), &ended);
  lua_pushstring(L, !there ? "end" : ended ? "signal" : "time");
  return 1;
}

/* push_walk(calls, walk) */
static int push_walk(lua_State *L)
{
  const mp_farheap *heap = lua_touserdata(L, 1);
  heap->calls->push(L, heap->walk);
  return 1;
}

/* heap(library, share, file): a walk (heapwalk/walk.h), with the text of a
** .heapsnapshot if file is true, and whether compiled code ran; or nil and a
** message. */
static int outside_heap(lua_State *L)
{
  mp_outside *o = check_outside(L);
  const char *library = luaL_checkstring(L, 2);
  mp_attach_copied_walk request = { luaL_checknumber(L, 3),
				    lua_toboolean(L, 4) };
  mp_farheap heap;
  bool ok;
  if (!mp_outside_heap(o, library, &request, &ended, &heap))
    return fail_outside(L, o);
  lua_pushcfunction(L, push_walk);
  lua_pushlightuserdata(L, &heap);
  ok = lua_pcall(L, 1, 1, 0) == 0;
  heap.calls->release(heap.walk);
  if (!ok) return lua_error(L);
  lua_pushboolean(L, heap.compiled);
  return 2;
}

/* times(): the wall clock, and the CPU seconds of the thread so far; nil: no
** thread has been found. */
static int outside_times(lua_State *L)
{
  const mp_outside *o = check_outside(L);
  lua_pushnumber(L, mp_clock_wall());
  if (!o->found) return 1;
  lua_pushnumber(L, o->spent);
  return 2;
}

static int outside_gc(lua_State *L)
{
  mp_outside_close(check_outside(L));
  return 0;
}

static void make_type(lua_State *L, const char *name, const luaL_Reg *methods)
{
  luaL_newmetatable(L, name);
  luaL_register(L, NULL, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

static void make_types(lua_State *L)
{
  static const luaL_Reg session[] = {
    { "states", session_states },
    { "start", session_start },
    { "wait", session_wait },
    { "stop", session_stop },
    { "write", session_write },
    { "read", session_read },
    { "__gc", session_gc },
    { NULL, NULL }
  };
  static const luaL_Reg outside[] = {
    { "states", outside_states },
    { "choose", outside_choose },
    { "sample", outside_sample },
    { "frames", outside_frames },
    { "functions", outside_functions },
    { "heap", outside_heap },
    { "wait", outside_wait },
    { "times", outside_times },
    { "__gc", outside_gc },
    { NULL, NULL }
  };
  make_type(L, TYPE, session);
  make_type(L, OUTSIDE, outside);
}

#else

static int session_open(lua_State *L)
{
  lua_pushnil(L);
  lua_pushliteral(L, "luajit-mp can attach to programs on x86-64, i386 and "
		  "arm64 only");
  return 2;
}

#define outside_open session_open

static int leave_signals(lua_State *L)
{
  (void)L;
  return 0;
}

static void make_types(lua_State *L) { (void)L; }

#endif

__attribute__((visibility("default")))
int luaopen_jit_mp_attach(lua_State *L)
{
  make_types(L);
  lua_newtable(L);
  lua_pushcfunction(L, session_open);
  lua_setfield(L, -2, "open");
  lua_pushcfunction(L, outside_open);
  lua_setfield(L, -2, "outside");
  lua_pushcfunction(L, leave_signals);
  lua_setfield(L, -2, "leave_signals");
  return 1;
}
