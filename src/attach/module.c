/* SPDX-License-Identifier: MIT */
/*
** jit.mp.attach: sessions (attach/session.h) for the command luajit-mp.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "vm/layout.h"

#include "lua.h"
#include "lauxlib.h"

/* The parts that know processes know these processors only. */
#if defined(MP_LAYOUT)
#include "attach/receive.h"
#include "attach/session.h"

#define TYPE	"luajit-mp session"

static volatile int ended;	/* The user has ended the session. */

static void on_signal(int sig)
{
  (void)sig;
  ended = 1;
}

/* From now on these signals end the session. */
static void take_signals(void)
{
  static const int all[] = { SIGINT, SIGTERM, SIGHUP };
  struct sigaction sa;
  size_t i;
  memset(&sa, 0, sizeof(sa));
  sa.sa_handler = on_signal;
  sigemptyset(&sa.sa_mask);
  for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    sigaction(all[i], &sa, NULL);
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

/* states(): a list of { bytes, chunk, profiled }. */
static int session_states(lua_State *L)
{
  mp_session *s = check(L);
  int i;
  lua_newtable(L);
  for (i = 0; i < s->nstates && i < MP_STATES_MAX; i++) {
    lua_newtable(L);
    lua_pushnumber(L, (lua_Number)s->states[i].bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushstring(L, s->states[i].chunk);
    lua_setfield(L, -2, "chunk");
    lua_pushboolean(L, mp_session_profiled(s, i));
    lua_setfield(L, -2, "profiled");
    lua_rawseti(L, -2, i + 1);
  }
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

static void make_type(lua_State *L)
{
  static const luaL_Reg methods[] = {
    { "states", session_states },
    { "start", session_start },
    { "wait", session_wait },
    { "stop", session_stop },
    { "write", session_write },
    { "read", session_read },
    { "__gc", session_gc },
    { NULL, NULL }
  };
  luaL_newmetatable(L, TYPE);
  luaL_register(L, NULL, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

#else

static int session_open(lua_State *L)
{
  lua_pushnil(L);
  lua_pushliteral(L, "luajit-mp can attach to programs on x86-64, i386 and "
		  "arm64 only");
  return 2;
}

static void make_type(lua_State *L) { (void)L; }

#endif

__attribute__((visibility("default")))
int luaopen_jit_mp_attach(lua_State *L)
{
  make_type(L);
  lua_newtable(L);
  lua_pushcfunction(L, session_open);
  lua_setfield(L, -2, "open");
  return 1;
}
