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
  mp_report_close(c);
  mp_screen_close(&c->screen);
  for (i = 0; i < c->nouts; i++) mp_output_close(&c->outs[i]);
  free(c->outs);
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

/* A field of the options that is a count, or the default. */
static uint64_t opt_count(lua_State *L, const char *field, uint64_t def)
{
  double n;
  lua_getfield(L, 1, field);
  if (!lua_isnil(L, -1)) {
    n = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : 0;
    if (!(n >= 1 && n <= 1e15))
      luaL_error(L, "jit.mp.core: '%s' must be a number from 1 on", field);
    def = (uint64_t)n;
  }
  lua_pop(L, 1);
  return def;
}

static bool opt_bool(lua_State *L, const char *field)
{
  bool b;
  lua_getfield(L, 1, field);
  b = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return b;
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

/* Opens the outputs: the arguments from the second on; none: stdout. */
static const char *open_outputs(mp_ctx *c, lua_State *L, int n, char *buf,
				size_t size, int *err)
{
  int i;
  c->outs = calloc((size_t)n + 1, sizeof(*c->outs));
  if (c->outs == NULL) return "not enough memory";
  for (i = 0; i < n || i == 0; i++) {
    const char *name = i < n ? lua_tostring(L, i + 2) : NULL;
    c->nouts++;
    *err = mp_output_open(&c->outs[i], name, c->cwd);
    if (*err == 0) continue;
    snprintf(buf, size, "cannot open '%s' for the report: %s", name,
	     strerror(*err));
    return buf;
  }
  return NULL;
}

/* Everything that can fail for want of memory, a file or a terminal. */
static const char *ctx_open(mp_ctx *c, lua_State *L, int nouts, char *buf,
			    size_t n, int *err)
{
  uint32_t slots = c->exact ? CACHE_EXACT : CACHE_SAMPLING;
  const char *msg;
  *err = ENOMEM;
  c->cwd = getcwd(NULL, 0);
  if (c->cwd == NULL) c->cwd = strdup("/");
  if (!mp_live_init(&c->live, c->exact) || c->options == NULL ||
      c->cwd == NULL ||
      !mp_capture_init(&c->capture, &c->vm, &c->counts, slots))
    return "not enough memory";
  /* The VM frees it when the timer is stopped: the hook must see that. */
  mp_live_watch(&c->live, mp_dump_region);
  msg = open_outputs(c, L, nouts, buf, n, err);
  if (msg != NULL) return msg;
  *err = EIO;
  msg = mp_report_open(c, L, buf, n);
  if (msg != NULL || !c->wants_screen) return msg;
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

/* A new context with the options of the table that is the first argument. */
static mp_ctx *ctx_new(lua_State *L)
{
  uint64_t period = opt_count(L, "period", 0);
  uint64_t interval = opt_count(L, "interval", 10);
  uint64_t limit = opt_count(L, "leak_limit", UINT64_MAX);
  const char *options;
  mp_ctx *c;
  lua_getfield(L, 1, "text");
  options = luaL_optstring(L, -1, "f");  /* All that may raise comes first. */
  c = aligned_alloc(LINE, (sizeof(*c) + LINE - 1) & ~(LINE - 1));
  if (c == NULL) return NULL;
  ctx_init(c);
  c->exact = period == 1;
  c->interval = interval > 1000000 ? 1000000 : (int)interval;
  c->leak_limit = limit == UINT64_MAX ? 0 : (double)limit;
  c->wants_events = opt_bool(L, "events");
  c->wants_leaks = opt_bool(L, "leaks");
  c->wants_screen = opt_bool(L, "live");
  mp_period_init(&c->period, period, (uint64_t)time(NULL) * 2654435761u ^
		 (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)c);
  c->options = strdup(options);
  lua_pop(L, 1);
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

/* start(options [, out...]) */
static int core_start(lua_State *L)
{
  mp_ctx *c, **guard;
  const char *msg;
  char buf[512];
  int err, i, nouts = lua_gettop(L) - 1;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (i = 0; i < nouts; i++) luaL_optstring(L, i + 2, NULL);
  if ((c = ctx_get(L)) != NULL) {
    if (c->pid == getpid())
      return mp_fail(L, "the profiler is already running", EALREADY);
    ctx_end(c, L, buf, sizeof(buf));  /* It is the parent's. */
  }
  guard = make_guard(L);
  if ((c = ctx_new(L)) == NULL)
    return mp_fail(L, "not enough memory", ENOMEM);
  mp_vm_prove(&c->vm, L, core_start);
  msg = ctx_open(c, L, nouts, buf, sizeof(buf), &err);
  if (msg == NULL) msg = started_within(L, &err);
  if (msg == NULL) {
    make_anchor(c, L);
    msg = started_within(L, &err);
  }
  if (msg == NULL) {
    err = mp_timer_start(c, L);
    if (err != 0) msg = "the profiling timer is in use by another profiler "
			"(jit.p or jit.profile, or a C library's): stop it first";
  }
  if (msg != NULL) {
    lua_pushstring(L, msg);
    ctx_free(c);
    return mp_fail(L, lua_tostring(L, -1), err);
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

/* report(options [, out...]) */
static int core_report(lua_State *L)
{
  const char *options = luaL_checkstring(L, 1);
  mp_ctx *c = running(L);
  char msg[512];
  int err, i = 2;
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  do {
    const char *name = luaL_optstring(L, i, NULL);
    mp_output out;
    err = mp_output_open(&out, name, c->cwd);
    if (err == 0)
      err = mp_report(c, options, &out, msg, sizeof(msg));
    else
      snprintf(msg, sizeof(msg), "cannot open '%s' for the report: %s", name,
	       strerror(err));
    mp_output_close(&out);
    if (err != 0) return mp_fail(L, msg, err);
  } while (++i <= lua_gettop(L));
  lua_pushboolean(L, 1);
  return 1;
}

static int make_snapshot(lua_State *L)
{
  mp_snapshot(L, lua_touserdata(L, 1));
  return 1;
}

/* Calls the upvalue with all that is on the stack: what it allocates is ours,
** and the profile cannot be stopped meanwhile. c: the running one, or NULL.
** Returns how many results it left. */
static int call_frozen(mp_ctx *c, lua_State *L)
{
  bool frozen = c == NULL || c->frozen;  /* By one that a finalizer came into. */
  bool busy = c != NULL && c->busy;
  int err;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (c != NULL) c->busy = true;
  if (!frozen) mp_alloc_freeze(c);
  err = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (!frozen) mp_alloc_thaw(c);
  if (c != NULL) c->busy = busy;
  return err != 0 ? lua_error(L) : lua_gettop(L);
}

/* snapshot() */
static int core_snapshot(lua_State *L)
{
  mp_ctx *c = running(L);
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  lua_settop(L, 0);
  lua_pushlightuserdata(L, c);
  return call_frozen(c, L);
}

/* options(options [, out...]) */
static int core_options(lua_State *L)
{
  luaL_checkstring(L, 1);
  return call_frozen(running(L), L);
}

__attribute__((visibility("default")))
int luaopen_jit_mp_core(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "start", core_start },
    { "stop", core_stop },
    { "report", core_report },
    { NULL, NULL }
  };
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  lua_pushcfunction(L, mp_report_options);
  lua_pushcclosure(L, core_options, 1);
  lua_setfield(L, -2, "options");
  lua_pushcfunction(L, make_snapshot);
  lua_pushcclosure(L, core_snapshot, 1);
  lua_setfield(L, -2, "snapshot");
  return 1;
}
