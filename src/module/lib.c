/* SPDX-License-Identifier: MIT */
/*
** jit.mp.core: the core as a Lua module. Documented in jit.mp(3).
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "module/arguments.h"
#include "module/guard.h"
#include "module/heap.h"
#include "module/label.h"
#include "module/onsignal.h"
#include "module/other.h"
#include "module/start.h"
#include "module/window.h"
#include "process/ctx.h"
#include "profile/point.h"
#include "profile/snapshot.h"
#include "report/files.h"
#include "report/modules.h"
#include "report/write.h"

#include "lauxlib.h"

/* stop() */
static int core_stop(lua_State *L)
{
  mp_ctx *c = mp_guard_running(L);
  char msg[512];
  int err;
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  if (c->profile.busy)
    return mp_fail(L, "the profiler cannot be stopped by a callback or "
		   "finalizer that runs inside of it", EBUSY);
  err = mp_guard_stop(L, msg, sizeof(msg));
  if (err != 0) return mp_fail(L, msg, err);
  lua_pushboolean(L, 1);
  return 1;
}

/* Writes a report by the options and to the outputs on the stack. purpose: a
** word for jit.mp.plan. */
static int write_report(lua_State *L, const char *purpose)
{
  mp_ctx *c = mp_guard_running(L);
  bool help;
  char msg[512];
  int err;
  mp_check_arguments(L);
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  lua_pushstring(L, purpose);
  lua_insert(L, 2);
  mp_point_force(&c->profile);
  err = mp_window_write(L, c, NULL, NULL, &help, msg, sizeof(msg));
  if (err != 0) return mp_fail(L, msg, err);
  lua_pushboolean(L, !help);
  return 1;
}

/* report([options [, out...]]) */
static int core_report(lua_State *L)
{
  return write_report(L, "--for=report");
}

/* again([out...]): a report by the options of the start. */
static int core_again(lua_State *L)
{
  mp_ctx *c = mp_guard_running(L);
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  lua_pushstring(L, c->plan.text);
  lua_insert(L, 1);
  return write_report(L, "--for=others");
}

/* write(name, text) */
static int core_write(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1), *text;
  char msg[512], shown[MP_NAME_SIZE];
  size_t len;
  int err;
  text = luaL_checklstring(L, 2, &len);
  err = mp_output_put(name, text, len);
  if (err != 0) {
    snprintf(msg, sizeof(msg), "cannot write '%s': %s",
	     mp_output_name(shown, name), mp_output_error(err));
    return mp_fail(L, msg, err);
  }
  lua_pushboolean(L, 1);
  return 1;
}

typedef struct snapshot {
  mp_profile *profile;
  mp_moment now;
} snapshot;

static int make_snapshot(lua_State *L)
{
  const snapshot *s = lua_touserdata(L, 1);
  const mp_scope scope = { NULL, &s->now, false, NULL, NULL, NULL };
  mp_snapshot(L, s->profile, &scope);
  return 1;
}

/* snapshot(). The upvalue makes it; allocations for it count as the profiler's,
** and the profile cannot be stopped meanwhile. */
static int core_snapshot(lua_State *L)
{
  mp_ctx *c = mp_guard_running(L);
  mp_profile *p;
  snapshot s;
  bool paused, busy, taken;
  int err = 0;
  if (c == NULL) return mp_fail(L, "the profiler is not running", ESRCH);
  s.profile = p = &c->profile;
  busy = p->busy;
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushlightuserdata(L, &s);
  p->busy = true;
  paused = mp_alloc_pause(p->heap);
  taken = mp_moment_take_at_rest(&s.now, p);
  if (taken) err = lua_pcall(L, 1, 1, 0);
  if (taken) mp_moment_free(&s.now);
  mp_alloc_resume(p->heap, paused);
  p->busy = busy;
  if (!taken) return mp_fail(L, "not enough memory", ENOMEM);
  return err != 0 ? lua_error(L) : 1;
}

typedef struct allocator {
  lua_Alloc f;
  void *ud;
} allocator;

static void *alloc_or_end(void *ud, void *p, size_t osize, size_t nsize)
{
  const allocator *a = ud;
  void *block = a->f(a->ud, p, osize, nsize);
  if (block != NULL || nsize == 0) return block;
  fputs("luajit-mp: not enough memory\n", stderr);
  exit(EXIT_FAILURE);
}

/* end_without_memory(): the process ends with a message where the state gets no
** memory. It is for the command: builds of LuaJIT before June 2023 crash if
** compiled code gets none, and other errors could be made of this one. */
static int core_end_without_memory(lua_State *L)
{
  allocator *a = malloc(sizeof(*a));
  if (a == NULL) return luaL_error(L, "not enough memory");
  a->f = lua_getallocf(L, &a->ud);
  lua_setallocf(L, alloc_or_end, a);
  return 0;
}

static bool never(void) { return false; }

/* end_waiting(): the command does not wait for ever for the reader of a FIFO to
** come. */
static int core_end_waiting(lua_State *L)
{
  (void)L;
  mp_write_bound(never);
  return 0;
}

__attribute__((visibility("default")))
int luaopen_jit_mp_core(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "stop", core_stop },
    { "report", core_report },
    { "again", core_again },
    { "write", core_write },
    { "end_without_memory", core_end_without_memory },
    { "end_waiting", core_end_waiting },
    { "on_signal", mp_on_signal },
    { NULL, NULL }
  };
  lua_CFunction other = mp_other_core(L);
  if (other != NULL) return other(L);
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  mp_modules_path(L);
  lua_pushcclosure(L, mp_start, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "start");
  lua_pushcclosure(L, mp_start_by_option, 1);
  lua_setfield(L, -2, "by_option");
  lua_pushcfunction(L, make_snapshot);
  lua_pushcclosure(L, core_snapshot, 1);
  lua_setfield(L, -2, "snapshot");
  mp_heap_functions(L);
  mp_window_functions(L);
  mp_label_functions(L);
  mp_files_push(L);
  lua_setfield(L, -2, "files");
  return 1;
}
