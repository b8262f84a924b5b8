/* SPDX-License-Identifier: MIT */
/*
** See module/window.h.
*/
#include "config.h"

#include <errno.h>
#include <string.h>

#include "heapwalk/walk.h"
#include "module/arguments.h"
#include "module/guard.h"
#include "module/window.h"
#include "process/signal.h"
#include "profile/memory.h"
#include "profile/snapshot.h"

#include "lauxlib.h"

#define MARK	"jit.mp.mark"	/* The metatable of marks. */

typedef struct window {
  mp_ctx *run;
  const mp_moment *from;		/* Or NULL: the start. */
  mp_moment to;			/* Now. */
  bool as_table;		/* And not written to outputs. */
} window;

static int fail_none(lua_State *L)
{
  return mp_fail(L, "the profiler is not running", ESRCH);
}

/* Takes the window up to this moment, and puts the options of the start, and a
** word for jit.mp.plan, below the outputs, which are all that is on the stack.
** Returns 0, or the number of results of a call that failed. */
static int open_window(lua_State *L, window *w)
{
  memset(w, 0, sizeof(*w));
  w->run = mp_guard_running(L);
  if (w->run == NULL) return fail_none(L);
  if (w->run->profile.busy)
    return mp_fail(L, "a window cannot be taken by a callback or "
		   "finalizer that runs inside of the profiler", EBUSY);
  lua_pushstring(L, w->run->plan.text);
  lua_insert(L, 1);
  w->as_table = lua_isnoneornil(L, 2);
  lua_pushliteral(L, "--for=others");
  lua_insert(L, 2);
  if (!mp_moment_take_at_rest(&w->to, &w->run->profile))
    return mp_fail(L, "not enough memory", ENOMEM);
  return 0;
}

static int make_table(lua_State *L)
{
  const window *w = lua_touserdata(L, 1);
  const mp_scope scope = { w->from, &w->to, true, NULL, NULL, NULL };
  mp_snapshot(L, &w->run->profile, &scope);
  return 1;
}

/* Leaves the table, or an error that was raised, on the stack. The allocations
** for it count as the profiler's. */
static bool push_table(lua_State *L, window *w)
{
  mp_profile *p = &w->run->profile;
  bool paused;
  int err;
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushlightuserdata(L, w);
  paused = mp_alloc_pause(p->heap);
  err = lua_pcall(L, 1, 1, 0);
  mp_alloc_resume(p->heap, paused);
  return err == 0;
}

int mp_window_write(lua_State *L, mp_ctx *c, const mp_moment *from,
		    const mp_moment *to, bool *help, char *buf, size_t n)
{
  mp_profile *p = &c->profile;
  double leaked;
  mp_plan plan;
  int err;
  mp_ctx_await(c);
  mp_signal_hold();
  err = mp_plan_make(&plan, c->report.state, L, &p->origin, buf, n);
  *help = plan.help;
  if (err == 0) {
    if (plan.memory) mp_memory_take(p, &c->report.state->memory);
    mp_compiler_take(&p->compiler);
    mp_heapwalk_refresh(p, L, &plan.walk, MP_MEANWHILE);
    c->report.from = from;
    c->report.to = to;
    err = mp_report_write(&c->report, &plan, &leaked, buf, n);
    c->report.from = c->report.to = NULL;
  }
  mp_plan_free(&plan, c->report.state);
  mp_heapwalk_drop(p);
  mp_memory_drop(p);
  mp_signal_release();
  return err;
}

/* Returns the window as a table or, if there are outputs, writes it to these.
** Frees the mark unless it is to be kept and all went well: *kept then has it.
** Returns the number of results. */
static int tell(lua_State *L, window *w, mp_moment *kept)
{
  bool ok, help;
  char msg[512];
  int err = 0;
  w->run->profile.busy = true;
  if (w->as_table) {
    mp_compiler_take(&w->run->profile.compiler);
    err = push_table(L, w) ? 0 : MP_FAILED;
  }
  else err = mp_window_write(L, w->run, w->from, &w->to, &help, msg,
			     sizeof(msg));
  ok = err == 0;
  w->run->profile.busy = false;
  mp_moment_free(ok && kept ? kept : &w->to);
  if (ok && kept) *kept = w->to;
  if (!ok) return w->as_table ? lua_error(L) : mp_fail(L, msg, err);
  if (!w->as_table) lua_pushboolean(L, 1);
  return 1;
}

static void check_outputs(lua_State *L)
{
  int i, n = lua_gettop(L);
  if (n > 0 && mp_is_writer(L, n)) n--;
  for (i = 1; i <= n; i++) mp_check_output(L, i);
  luaL_checkstack(L, 8, "too many outputs");
}

/* window([out...]): the time since the last window. A window that could not be
** written continues. */
static int core_window(lua_State *L)
{
  window w;
  int n;
  check_outputs(L);
  if ((n = open_window(L, &w)) != 0) return n;
  w.from = &w.run->window;
  return tell(L, &w, &w.run->window);
}

/* mark(): the beginning of a window, for since. */
static int core_mark(lua_State *L)
{
  mp_ctx *c = mp_guard_running(L);
  mp_moment *m;
  if (c == NULL) return fail_none(L);
  m = lua_newuserdata(L, sizeof(*m));
  memset(m, 0, sizeof(*m));
  luaL_getmetatable(L, MARK);
  lua_setmetatable(L, -2);
  return mp_moment_take(m, &c->profile) ? 1 :
	 mp_fail(L, "not enough memory", ENOMEM);
}

static int mark_gc(lua_State *L)
{
  mp_moment_free(luaL_checkudata(L, 1, MARK));
  return 0;
}

/* since(mark [, out...]): the time since the mark, which remains valid. */
static int core_since(lua_State *L)
{
  const mp_moment *m = luaL_checkudata(L, 1, MARK);
  mp_ctx *c = mp_guard_running(L);
  window w;
  int n;
  if (c == NULL) return fail_none(L);
  if (mp_moment_of(m, &c->profile) == NULL)
    return mp_fail(L, "the mark is of a profile that has ended", EINVAL);
  if (!c->profile.busy) {  /* The mark must not go while it is used. */
    lua_pushvalue(L, 1);
    lua_replace(L, lua_upvalueindex(2));
  }
  lua_remove(L, 1);
  check_outputs(L);
  if ((n = open_window(L, &w)) != 0) return n;
  w.from = m;
  return tell(L, &w, NULL);
}

void mp_window_functions(lua_State *L)
{
  if (luaL_newmetatable(L, MARK)) {
    lua_pushcfunction(L, mark_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, make_table);
  lua_pushcclosure(L, core_window, 1);
  lua_setfield(L, -2, "window");
  lua_pushcfunction(L, core_mark);
  lua_setfield(L, -2, "mark");
  lua_pushcfunction(L, make_table);
  lua_pushnil(L);
  lua_pushcclosure(L, core_since, 2);
  lua_setfield(L, -2, "since");
}
