/* SPDX-License-Identifier: MIT */
/*
** See module/start.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "data/lock.h"
#include "data/process.h"
#include "data/seed.h"
#include "module/arguments.h"
#include "module/confine.h"
#include "module/guard.h"
#include "module/start.h"
#include "native/native.h"
#include "process/callback.h"
#include "process/ends.h"
#include "process/exec.h"
#include "process/fork.h"
#include "process/inherit.h"
#include "process/intercept.h"
#include "process/safepoint.h"
#include "process/seen.h"
#include "process/signal.h"
#include "process/trigger.h"
#include "profile/point.h"
#include "sample/capture.h"
#include "sample/hook.h"
#include "sample/tracing.h"
#include "vm/bug.h"
#include "vm/learn.h"
#include "vm/parked.h"
#include "vm/prove.h"

#include "lauxlib.h"

/* The state of a start, with the reason if it failed. */
typedef struct problem {
  int err;			/* The error for mp_fail; 0: none. */
  char msg[512];
} problem;

static bool fails(problem *p, int err, const char *msg)
{
  p->err = err;
  snprintf(p->msg, sizeof(p->msg), "%s", msg);
  return false;
}

/* Whether the layout of the VM is known. */
static bool is_exact(mp_ctx *c)
{
  return mp_alloc_vm(c->profile.heap)->proved;
}

static void set_plan(mp_ctx *c)
{
  const mp_plan *plan = &c->plan;
  mp_profile *p = &c->profile;
  const mp_alloc_options wants = {
    plan->period, plan->events, plan->leaks, plan->types,
    plan->leaks || (plan->events && (plan->memory || plan->walk.share > 0)),
    plan->trigger.walk.share > 0, plan->waits
  };
  p->compiler.on = plan->compiler;
  p->compiler.lists = plan->listings;
  p->waits.on = plan->waits;
  p->limit = (size_t)plan->limit;
  p->reportlimit = (size_t)mp_report_limit(plan);
  mp_alloc_set(p->heap, &wants);
  p->cpu.at_safepoint = mp_safepoint;
  p->cpu.in_code = mp_safepoint_incode;
  p->cpu.data = c;
  p->cpu.interval = plan->interval;
  /* Samples that wait for the next safepoint need one at each line. */
  p->cpu.lines = plan->lines || !is_exact(c);
  c->due = plan->every;
  mp_trigger_prepare(c);
}

/* Lets the private state read the option string. */
static bool make_plan(mp_ctx *c, unsigned state, lua_State *L, problem *p)
{
  mp_origin *o = &c->profile.origin;
  const char *path = lua_tostring(L, lua_upvalueindex(1));
  mp_origin_set(o, L);
  o->state = state;
  if (o->cwd == NULL)
    return fails(p, ENOMEM, "not enough memory");
  p->err = mp_report_open(&c->report, &c->profile, path, p->msg,
			  sizeof(p->msg));
  if (p->err == 0)
    p->err = mp_plan_make(&c->plan, c->report.state, L, o, p->msg,
			  sizeof(p->msg));
  if (p->err != 0) return false;
  o->options = strdup(c->plan.text);
  if (o->options == NULL) return fails(p, ENOMEM, "not enough memory");
  set_plan(c);
  return true;
}

static bool open_screen(mp_ctx *c, problem *p)
{
  int err = c->plan.live ? mp_screen_open(&c->screen) : 0;
  if (c->screen.nkeys >= 0 && !c->plan.functions)  /* A key may ask for them. */
    c->profile.cpu.lines = true;
  return err == 0 || fails(p, err, "the live view needs a terminal, and there "
			   "is none: leave out option T");
}

/* Whether no profile has been started meanwhile, by a finalizer. */
static bool none_within(lua_State *L, problem *p)
{
  return mp_guard_get(L) == NULL ||
	 fails(p, EALREADY, "the profiler is already running");
}

/* Another profiler has the timer: the heap can be profiled without it, but
** nothing can be done at safepoints. */
static bool do_without_timer(mp_ctx *c, problem *p)
{
  const char *why = c->plan.cpu_only ? "and CPU is all that was asked for" :
		    c->plan.live ? "and option T needs it" :
		    c->callback.thread != NULL ? "and the callback needs it" :
		    c->plan.every > 0 ? "and option w needs it" :
		    c->watch != NULL ? "and option B needs it" :
		    !is_exact(c) ? "and memory samples need it" : NULL;
  if (why == NULL) {
    mp_notes_add(&c->profile.notes, "no CPU samples: another profiler had the "
		 "timer when the profile began; lines of compiled code may be "
		 "neighbours of those that allocate");
    return true;
  }
  p->err = EBUSY;
  snprintf(p->msg, sizeof(p->msg), "the profiling timer is in use by another "
	   "profiler (jit.p or jit.profile, or a C library's), %s: stop it "
	   "first", why);
  return false;
}

static bool start_timer(mp_ctx *c, lua_State *L, problem *p)
{
  if (mp_cpu_start(&c->profile.cpu, L) != 0 && !do_without_timer(c, p))
    return false;
  if (!is_exact(c) && mp_cpu_has_buffer(&c->profile.cpu) &&
      lua_cpcall(L, mp_dump_prepare, NULL) != 0)
    lua_pop(L, 1);  /* It grows later, then. */
  return true;
}

/* Whether coroutines can be watched, if they are to be. */
static bool can_watch(mp_ctx *c, lua_State *L, problem *p)
{
  const mp_vm *vm = mp_alloc_vm(c->profile.heap);
  if (!c->plan.waits || (vm->proved && mp_parked_prove(vm, L))) return true;
  p->err = ENOTSUP;
  snprintf(p->msg, sizeof(p->msg), "option I has to read the stacks of "
	   "coroutines, and cannot: %s", vm->proved ? "their layout is not the "
	   "known one" : vm->why);
  return false;
}

static int collect(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

/* Collects what the start has left, unless the program has stopped that. The
** function stays in the registry, as its own end would count. */
static void clean(const mp_ctx *c, lua_State *L)
{
  static const char key;
  if (!c->plan.collected || lua_gc(L, LUA_GCISRUNNING, 0) == 0) return;
  lua_pushlightuserdata(L, (void *)(uintptr_t)&key);
  lua_pushcfunction(L, collect);
  lua_pushvalue(L, -1);
  lua_insert(L, -3);
  lua_rawset(L, LUA_REGISTRYINDEX);
  if (lua_pcall(L, 0, 0, 0) != 0) lua_pop(L, 1);  /* A finalizer's error. */
}

#define CALLBACK 10		/* Milliseconds from one to the next. */

/* All steps of a start that may fail. */
static bool prepare(mp_ctx *c, lua_State *L, problem *p)
{
  if (mp_vm_inevent(mp_alloc_vm(c->profile.heap), L))
    return fails(p, EBUSY, "the profiler cannot be started by a handler of "
		 "jit.attach or jit.profile: start it outside");
  if (mp_vm_perhaps_inevent(mp_alloc_vm(c->profile.heap), L))
    return fails(p, EBUSY, "on this LuaJIT, the profiler cannot be started by "
		 "a handler of jit.attach, nor by a hook or finalizer once "
		 "jit.attach was called: start it outside");
  if (!can_watch(c, L, p) || !open_screen(c, p)) return false;
  if (!mp_profile_open(&c->profile))
    return fails(p, ENOMEM, "not enough memory");
  if (!none_within(L, p)) return false;
  mp_guard_coroutines(c, L);
  if (c->callback.thread != NULL) {  /* It comes at each line. */
    c->profile.cpu.lines = true;
    if (c->profile.cpu.interval == 0) c->profile.cpu.interval = CALLBACK;
  }
  mp_alloc_vm(c->profile.heap)->coarse = !c->profile.cpu.lines;
  mp_compiler_prepare(&c->profile.compiler);
  clean(c, L);
  if (!none_within(L, p) || !start_timer(c, L, p)) return false;
  if (!c->plan.calls || mp_calls_start(&c->profile.calls, L)) return true;
  mp_cpu_stop(&c->profile.cpu, L);
  return fails(p, EBUSY, "option n cannot set its hook: the program has one of "
	       "its own (debug.sethook), or a finalizer is running");
}

static void begin(mp_ctx *c, lua_State *L)
{
  mp_profile *p = &c->profile;
  c->thread = pthread_self();
  mp_ctx_share(c);
  mp_span_begin(&p->span);
  mp_lock();
  if (mp_ctx_list() == NULL) mp_signal_take();
  mp_intercept_begin();
  mp_ctx_enlist(c);
  mp_unlock();
  mp_hook_install(p->heap, L);
  mp_alloc_freeze(p->heap);
  mp_compiler_start(&p->compiler, L);
  mp_alloc_thaw(p->heap);
  mp_native_start(&p->capture, p->heap, &c->thread,
		  c->plan.period, mp_seed());
  if (p->waits.on)
    mp_waits_start(&p->waits, &p->capture, mp_alloc_coroutines(p->heap));
  mp_cpu_forget(&p->cpu);
  mp_point_force(p);
}

/* Writes the list of the options in place of a profile. */
static bool show_help(mp_ctx *c, problem *p)
{
  double leaked;
  p->err = mp_report_write(&c->report, &c->plan, &leaked, p->msg,
			   sizeof(p->msg));
  return p->err == 0;
}

/* Proves the layout, and that the places in compiled code can be found. */
static void prove(mp_vm *vm, lua_State *L)
{
  mp_vm_prove(vm, L, mp_start);
  if (!vm->proved || mp_learn_why() == NULL) return;
  vm->proved = false;
  vm->why = mp_learn_why();
}

/* Makes the run of that guard and starts it, or shows the help. */
static bool start(lua_State *L, mp_guard *g, problem *p)
{
  mp_ctx *c = mp_guard_new(g, L);
  bool ok;
  if (c == NULL) return fails(p, ENOMEM, "not enough memory");
  prove(mp_alloc_vm(c->profile.heap), L);
  if (is_exact(c)) mp_guard_unwrap(L);
  ok = make_plan(c, g->number, L, p);
  if (ok && c->plan.help) {
    ok = show_help(c, p);
  } else if (ok && prepare(c, L, p)) {
    g->run = c;
    c->profile.own = g;
    begin(c, L);
    return true;
  } else {
    mp_guard_release(c, L);
    ok = false;
  }
  mp_guard_drop(g, c);
  return ok;
}

static void install_once(void)
{
  mp_process_note();  /* First: in a child the rest asks for its number. */
  mp_native_install();
  mp_fork_install();
  mp_ends_install();
  mp_exec_install();
  mp_confine_install();
  mp_signal_install();
  mp_inherit_install(mp_signal_take);
  mp_seen_profiled();
}

/* Nothing keeps a new function alive while LuaJIT tells a handler of jit.attach
** of its bytecode: a collection then frees it. A start allocates within such
** handlers, and has one called for the module that it loads. */
static int start_uncollected(lua_State *L)
{
  int n = lua_gettop(L), status;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, mp_start, 1);
  lua_insert(L, 1);
  lua_gc(L, LUA_GCSTOP, 0);
  status = lua_pcall(L, n, LUA_MULTRET, 0);
  lua_gc(L, LUA_GCRESTART, 0);
  if (status == 0) return lua_gettop(L);
  if (status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING &&
      strncmp(lua_tostring(L, -1), "jit.mp: ", 8) == 0) {
    luaL_where(L, 1);  /* There was none: this function is the caller. */
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

int mp_start(lua_State *L)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  mp_guard *g;
  mp_ctx *c;
  problem p;
  pthread_once(&once, install_once);
  mp_bug_try();
  mp_learn();
  mp_check_arguments(L);
  if (mp_tracing_handler(L, "bc") != NULL && lua_gc(L, LUA_GCISRUNNING, 0) != 0)
    return start_uncollected(L);
  if ((c = mp_guard_get(L)) != NULL) {
    if (c->profile.span.pid == mp_process_self())
      return mp_fail(L, "the profiler is already running", EALREADY);
    mp_guard_end(L, p.msg, sizeof(p.msg));  /* It is the parent's. */
  }
  g = mp_guard_make(L);
  if (!start(L, g, &p)) return mp_fail(L, p.msg, p.err);
  lua_pushboolean(L, g->run != NULL);
  return 1;
}

int mp_start_by_option(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 2);
  if (lua_isnil(L, 1)) {
    lua_pushliteral(L, "jit.mp: ");
    lua_insert(L, 2);
    lua_concat(L, 2);
    return lua_error(L);
  }
  if (!lua_toboolean(L, 1)) {
    lua_getglobal(L, "os");
    lua_getfield(L, -1, "exit");
    lua_pushinteger(L, 0);
    lua_pushboolean(L, 1);
    lua_call(L, 2, 0);
  }
  return 0;
}
