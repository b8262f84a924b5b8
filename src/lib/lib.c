/*
** jit.mp.core: the core as a Lua module. Documented in jit.mp(3).
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile/ctx.h"
#include "sample/dump.h"
#include "vm/prove.h"

#include "lauxlib.h"

#define LINE		((size_t)64)	/* Of the processor's cache. */
#define CACHE_SAMPLING	(1u << 12)	/* Rows cached by key of a stack. */
#define CACHE_EXACT	(1u << 16)

/* Registry keys: of the guard that holds the context, and its anchor. */
static char guard_key, anchor_key;

/* -- Contexts ------------------------------------------------------------ */

static void ctx_free(mp_ctx *c)
{
  int i;
  mp_plan_free(c, &c->plan);
  mp_report_close(c);
  mp_screen_close(&c->screen);
  mp_live_free(&c->live);
  mp_capture_free(&c->capture);
  mp_counts_free(&c->counts);
  mp_course_free(&c->course);
  mp_events_free(&c->events);
  free(c->samples);
  free(c->options);
  free(c->luajit);
  free(c->os);
  free(c->arch);
  free(c->cwd);
  free(c->script);
  for (i = 0; c->command != NULL && c->command[i] != NULL; i++)
    free(c->command[i]);
  free(c->command);
  free(c);
}

/* The context of a VM, or NULL. */
static mp_ctx *ctx_get(lua_State *L)
{
  mp_ctx **guard, *c;
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  guard = lua_touserdata(L, -1);
  c = guard ? *guard : NULL;
  lua_pop(L, 1);
  return c;
}

/* Ends the profile. The report is made after the samplers were stopped. */
static int ctx_end(mp_ctx *c, lua_State *L, char *msg, size_t n)
{
  int err;
  mp_timer_stop(c, L);
  mp_alloc_stop(c, L);
  err = mp_report_final(c, msg, n);
  mp_end_delist(c);
  lua_pushlightuserdata(L, &anchor_key);
  lua_pushnil(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
  /* An allocator that others wrapped stays in use: it needs its context. */
  if (c->started) mp_alloc_retire(c);
  else ctx_free(c);
  return err;
}

static int guard_gc(lua_State *L)
{
  mp_ctx **guard = lua_touserdata(L, 1), *c = *guard;
  char msg[512];
  *guard = NULL;
  if (c != NULL && ctx_end(c, L, msg, sizeof(msg)) != 0)
    fprintf(stderr, "luajit-mp: %s\n", msg);
  return 0;
}

/* -- Start --------------------------------------------------------------- */

int mp_fail(lua_State *L, const char *msg, int err)
{
  lua_pushnil(L);
  lua_pushstring(L, msg);
  lua_pushinteger(L, err);
  return 3;
}

/* An option string, "f" by default, and names of outputs or nils. */
static void check_arguments(lua_State *L)
{
  int i;
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, lua_gettop(L) > 0 ? lua_gettop(L) : 1);
    lua_pushliteral(L, "f");
    lua_replace(L, 1);
  }
  for (i = 1; i <= lua_gettop(L); i++)
    if (lua_type(L, i) != LUA_TSTRING && !(i > 1 && lua_isnil(L, i)))
      luaL_error(L, "jit.mp: the %s, not a %s", i == 1 ? "options must be a "
		 "string" : "output must be a file name", luaL_typename(L, i));
}

/* Wrong arguments are the caller's error. */
static int fail(lua_State *L, const char *msg, int err)
{
  if (err == MP_WRONG) return luaL_error(L, "jit.mp: %s", msg);
  return mp_fail(L, msg, err);
}

#define COMMAND_MAX	1000	/* Words kept of the command line. */

/* arg[i] of the luajit command, or NULL. */
static char *command_word(lua_State *L, int i)
{
  char *s = NULL;
  lua_rawgeti(L, -1, i);
  if (lua_isstring(L, -1)) s = strdup(lua_tostring(L, -1));
  lua_pop(L, 1);
  return s;
}

/* What the luajit command says in the table arg, from its negative indices
** on: the script at 0. */
static void set_command(mp_ctx *c, lua_State *L)
{
  lua_pushliteral(L, "arg");  /* Not declared where globals must be? */
  lua_rawget(L, LUA_GLOBALSINDEX);
  if (lua_istable(L, -1)) {
    int from = 0, i;
    c->script = command_word(L, 0);
    while (from > -COMMAND_MAX) {
      lua_rawgeti(L, -1, from - 1);
      if (!lua_isstring(L, -1)) break;
      lua_pop(L, 1);
      from--;
    }
    if (from > -COMMAND_MAX) lua_pop(L, 1);
    c->command = calloc(COMMAND_MAX + 1, sizeof(*c->command));
    for (i = 0; c->command != NULL && i < COMMAND_MAX; i++)
      if ((c->command[i] = command_word(L, from + i)) == NULL) break;
  }
  lua_pop(L, 1);
}

/* A coroutine that never runs: what is done through it touches no stack of
** the program. It holds jit.zone's module table, which is its zone stack. */
static void make_anchor(mp_ctx *c, lua_State *L)
{
  lua_pushlightuserdata(L, &anchor_key);
  c->anchor = lua_newthread(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jit.zone");
  if (lua_pcall(L, 1, 1, 0) != 0) {
    lua_pop(L, 1);
    lua_pushnil(L);
    mp_ctx_note(c, "no zones: the module jit.zone cannot be loaded");
  }
  lua_checkstack(c->anchor, 4);
  lua_xmove(L, c->anchor, 1);
  mp_capture_anchor(&c->capture, c->anchor);
}

/* The guard outlives everything in the VM: it is finalised when the VM is
** closed, while the allocator can still be put back. */
static mp_ctx **make_guard(lua_State *L)
{
  mp_ctx **guard;
  lua_pushlightuserdata(L, &guard_key);
  guard = lua_newuserdata(L, sizeof(*guard));
  *guard = NULL;
  lua_newtable(L);
  lua_pushcfunction(L, guard_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return guard;
}

/* Has the option string read, which is all that the rest needs to know. */
static const char *plan_open(mp_ctx *c, lua_State *L, char *buf, size_t n,
			     int *err)
{
  const char *msg;
  *err = ENOMEM;
  c->options = strdup(lua_tostring(L, 1));
  c->cwd = getcwd(NULL, 0);
  if (c->cwd == NULL) c->cwd = strdup("/");
  if (c->options == NULL || c->cwd == NULL) return "not enough memory";
  *err = EIO;
  msg = mp_report_open(c, lua_tostring(L, lua_upvalueindex(1)), buf, n);
  if (msg != NULL) return msg;
  *err = mp_plan_make(c, L, &c->plan, buf, n);
  if (*err != 0) return buf;
  c->exact = c->plan.period == 1;
  c->interval = c->plan.interval;
  c->wants_events = c->plan.events;
  c->wants_leaks = c->plan.leaks;
  mp_period_init(&c->period, c->plan.period, (uint64_t)time(NULL) *
		 2654435761u ^ (uint64_t)getpid() << 32 ^
		 (uint64_t)(uintptr_t)c);
  return NULL;
}

/* Everything else that can fail for want of memory or a terminal. */
static const char *ctx_open(mp_ctx *c, int *err)
{
  uint32_t slots = c->exact ? CACHE_EXACT : CACHE_SAMPLING;
  *err = ENOMEM;
  if (!mp_live_init(&c->live, c->exact) ||
      !mp_capture_init(&c->capture, &c->vm, &c->counts, slots))
    return "not enough memory";
  if (!c->plan.live) return NULL;
  *err = mp_screen_open(&c->screen);
  return *err != 0 ? "the live view needs a terminal, and there is none: leave "
		     "out option T" : NULL;
}

/* The parts that need neither memory nor the environment. */
static void ctx_init(mp_ctx *c)
{
  memset(c, 0, sizeof(*c));
  c->screen.fd = -1;
  mp_counts_init(&c->counts);
  mp_course_init(&c->course);
  mp_events_init(&c->events);
}

/* A new context. NULL: no memory. */
static mp_ctx *ctx_new(lua_State *L)
{
  mp_ctx *c = aligned_alloc(LINE, (sizeof(*c) + LINE - 1) & ~(LINE - 1));
  if (c == NULL) return NULL;
  ctx_init(c);
  set_command(c, L);
  return c;
}

/* A finalizer that ran meanwhile may have started a profile. */
static const char *started_within(lua_State *L, int *err)
{
  if (ctx_get(L) == NULL) return NULL;
  *err = EALREADY;
  return "the profiler is already running";
}

/* What is left to do once everything is open. */
static const char *ctx_begin(mp_ctx *c, lua_State *L, int *err)
{
  const char *msg = started_within(L, err);
  if (msg != NULL) return msg;
  make_anchor(c, L);
  msg = started_within(L, err);
  if (msg != NULL) return msg;
  *err = mp_timer_start(c, L);
  if (*err == 0 && !c->vm.proved && lua_cpcall(L, mp_dump_prepare, NULL) != 0)
    lua_pop(L, 1);  /* It grows later, then. */
  return *err != 0 ? "the profiling timer is in use by another profiler (jit.p "
		     "or jit.profile, or a C library's): stop it first" : NULL;
}

/* Writes the list of the options in place of a profile. */
static int show_help(lua_State *L, mp_ctx *c)
{
  char buf[512];
  int err = mp_report(c, &c->plan, buf, sizeof(buf));
  ctx_free(c);
  if (err != 0) return mp_fail(L, buf, err);
  lua_pushboolean(L, 0);
  return 1;
}

/* start([options [, out...]]) */
static int core_start(lua_State *L)
{
  mp_ctx *c, **guard;
  const char *msg;
  char buf[512];
  int err;
  check_arguments(L);
  if ((c = ctx_get(L)) != NULL) {
    if (c->pid == getpid())
      return mp_fail(L, "the profiler is already running", EALREADY);
    ctx_end(c, L, buf, sizeof(buf));  /* It is the parent's. */
  }
  guard = make_guard(L);
  if ((c = ctx_new(L)) == NULL)
    return mp_fail(L, "not enough memory", ENOMEM);
  mp_vm_prove(&c->vm, L, core_start);
  msg = plan_open(c, L, buf, sizeof(buf), &err);
  if (msg == NULL && c->plan.help) return show_help(L, c);
  if (msg == NULL) msg = ctx_open(c, &err);
  if (msg == NULL) msg = ctx_begin(c, L, &err);
  if (msg != NULL) {
    ctx_free(c);
    return fail(L, msg, err);
  }
  *guard = c;
  mp_point_begin(c);
  mp_end_enlist(c);
  mp_alloc_start(c, L);
  mp_point_take(c, true);
  lua_pushboolean(L, 1);
  return 1;
}

/* -- The other functions ------------------------------------------------- */

/* The running profile of this process; NULL: there is none. */
static mp_ctx *running(lua_State *L)
{
  mp_ctx *c = ctx_get(L);
  return c != NULL && !c->done && c->pid == getpid() ? c : NULL;
}

/* stop() */
static int core_stop(lua_State *L)
{
  mp_ctx *c = running(L), **guard;
  char msg[512];
  int err;
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  if (c->busy)
    return mp_fail(L, "the profiler cannot be stopped by a finalizer that runs "
		   "inside of it", EBUSY);
  mp_leaks_collect(c, L);  /* Finalizers may call us: still the guard's. */
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  guard = lua_touserdata(L, -1);
  *guard = NULL;
  err = ctx_end(c, L, msg, sizeof(msg));
  if (err != 0) return mp_fail(L, msg, err);
  lua_pushboolean(L, 1);
  return 1;
}

/* report([options [, out...]]) */
static int core_report(lua_State *L)
{
  mp_ctx *c = running(L);
  mp_plan plan;
  char msg[512];
  int err;
  check_arguments(L);
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  err = mp_plan_make(c, L, &plan, msg, sizeof(msg));
  if (err == 0) err = mp_report(c, &plan, msg, sizeof(msg));
  lua_pushboolean(L, !plan.help);
  mp_plan_free(c, &plan);
  return err != 0 ? fail(L, msg, err) : 1;
}

static int make_snapshot(lua_State *L)
{
  mp_snapshot(L, lua_touserdata(L, 1));
  return 1;
}

/* Calls the upvalue: what it allocates is ours, and the profile cannot be
** stopped meanwhile. */
static int call_frozen(mp_ctx *c, lua_State *L)
{
  bool frozen = c->frozen, busy = c->busy;  /* A finalizer may have come in. */
  int err;
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushlightuserdata(L, c);
  c->busy = true;
  if (!frozen) mp_alloc_freeze(c);
  err = lua_pcall(L, 1, LUA_MULTRET, 0);
  if (!frozen) mp_alloc_thaw(c);
  c->busy = busy;
  return err != 0 ? lua_error(L) : lua_gettop(L);
}

/* snapshot() */
static int core_snapshot(lua_State *L)
{
  mp_ctx *c = running(L);
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  return call_frozen(c, L);
}

__attribute__((visibility("default")))
int luaopen_jit_mp_core(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "stop", core_stop },
    { "report", core_report },
    { NULL, NULL }
  };
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  mp_modules_path(L);
  lua_pushcclosure(L, core_start, 1);
  lua_setfield(L, -2, "start");
  lua_pushcfunction(L, make_snapshot);
  lua_pushcclosure(L, core_snapshot, 1);
  lua_setfield(L, -2, "snapshot");
  return 1;
}
