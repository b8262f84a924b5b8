/* SPDX-License-Identifier: MIT */
/*
** See module/attach.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/process.h"
#include "heapwalk/walk.h"
#include "luajit-mp.h"
#include "module/attach.h"
#include "module/guard.h"
#include "module/start.h"
#include "process/aside.h"
#include "process/ends.h"
#include "process/signal.h"
#include "profile/leaks.h"
#include "report/report.h"
#include "report/write.h"
#include "sample/cpu.h"

#include "lauxlib.h"

#define NAME	"attached.mp"	/* Its suffix says what is written. */

__attribute__((visibility("default")))
mp_attach_block mp_attach_answer = { .version = MP_ATTACH_VERSION };

#define block	mp_attach_answer
static mp_attach_call wanted;	/* A copy of the call. */
static volatile bool writing;	/* A profile that has ended is written, */
static pid_t writer;		/* in this process. */
static pid_t process;		/* That the last request came to. */
static pid_t preparer;		/* Where a start is prepared, */
static char path[sizeof(wanted.path)];	/* with that path. */
static mp_attach_caller run_caller;  /* Who wanted the profile: */
static mp_ctx *volatile run;	/* the profile that we started, or NULL. */
static struct { int fd; dev_t dev; ino_t ino; } file = { -1, 0, 0 };
static double lag;		/* Of the caller's clock. */
static volatile bool was_written;  /* The profile, since the last safepoint. */

/* The hook that was there before ours. */
static struct { lua_Hook hook; int mask, count; } old;

static void fail(const char *msg)
{
  snprintf(block.msg, sizeof(block.msg), "%s", msg);
  block.phase = MP_ATTACH_FAILED;
}

/* -- The end of the process --------------------------------------------- */

#define PATIENCE 10000		/* Milliseconds that an exit waits. */

/* A forked child has no such thread. */
static bool is_writing(void) { return writing && writer == mp_process_self(); }

/* An exit would end the thread that writes, and the report would be lost. */
static void await_writer(void)
{
  int i;
  for (i = 0; is_writing() && i < PATIENCE; i++) mp_clock_pause(1);
}

static void install(void) { atexit(await_writer); }

/* -- The requests, in a protected call ------------------------------------- */

static void set_lease(mp_ctx *c);

/* A new file that only we and the caller have. */
static bool open_file(void)
{
  struct stat st;
  file.fd = memfd_create("luajit-mp", MFD_CLOEXEC);
  if (file.fd < 0 || fstat(file.fd, &st) != 0) return false;
  file.dev = st.st_dev;
  file.ino = st.st_ino;
  return true;
}

/* The program may have closed it, and opened another. */
static bool is_ours(void)
{
  struct stat st;
  return file.fd >= 0 && fstat(file.fd, &st) == 0 && st.st_dev == file.dev &&
	 st.st_ino == file.ino;
}

static int write_file(void *ctx, const char *name, const void *text, size_t len)
{
  (void)ctx; (void)name;
  if (!is_ours()) return EBADF;
  if (ftruncate(file.fd, 0) != 0 || lseek(file.fd, 0, SEEK_SET) != 0)
    return errno;
  return mp_write(file.fd, text, len);
}

static void close_file(void *ctx, int err)
{
  (void)ctx; (void)err;
  if (is_ours()) close(file.fd);
  file.fd = -1;
  run = NULL;
}

static void push_writer(lua_State *L)
{
  luajit_mp_writer *w = lua_newuserdata(L, sizeof(*w));
  *w = (luajit_mp_writer){ write_file, close_file, NULL };
  luaL_newmetatable(L, "jit.mp.writer");
  lua_setmetatable(L, -2);
}

static bool same(const mp_attach_caller *a, const mp_attach_caller *b)
{
  return a->pid == b->pid && a->space == b->space && a->start == b->start;
}

/* Whether a profile of ours is under way, of any state; a forked child has
** none. */
static bool is_running(void)
{
  return run != NULL && !run->final.done &&
	 run->profile.span.pid == mp_process_self();
}

static void stop_here(lua_State *L);

/* Whether there is room for a profile. If the same caller asked for the one
** that runs, its request is fulfilled: the caller had stopped waiting just
** before. One whose caller has gone ends. */
static bool has_room(lua_State *L)
{
  if (is_running() && mp_guard_get(L) != run) {
    fail("another state of the process is still being profiled");
    return false;
  }
  if (is_running() && same(&run_caller, &wanted.caller)) {
    block.phase = MP_ATTACH_RUNNING;
    return false;
  }
  if (is_running()) stop_here(L);
  run = NULL;
  if (!is_writing() && open_file()) return true;
  fail(is_writing() ? "its last profile is still being written" :
       "the process cannot open a file for the profile");
  return false;
}

static void start(lua_State *L)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  mp_ctx *c;
  if (!has_room(L)) return;
  lua_settop(L, 0);
  lua_pushstring(L, wanted.path);
  lua_pushcclosure(L, mp_start, 1);
  lua_pushstring(L, wanted.options);
  lua_pushliteral(L, NAME);
  lua_pushliteral(L, "--for=others");  /* The command makes the reports. */
  push_writer(L);
  lua_call(L, 4, 2);
  c = lua_toboolean(L, 1) ? mp_guard_get(L) : NULL;
  if (c == NULL) {
    fail(lua_isstring(L, 2) ? lua_tostring(L, 2) : "the start failed");
    close_file(NULL, 0);
    return;
  }
  pthread_once(&once, install);
  run = c;
  run_caller = wanted.caller;
  set_lease(c);
  block.fd = file.fd;
  block.phase = MP_ATTACH_RUNNING;
}

/* Has the walk that a child of ours makes, if there is one. */
static void take_walk(mp_ctx *c)
{
  if (!c->background.walks) return;
  c->background.walks = false;
  mp_heapwalk_drop(&c->profile);
  c->profile.walk = mp_heapchild_end(&c->background.child, NULL);
}

/* A thread of its own, which writes the profile while the program continues. A
** signal that ends the program waits until then. */
static void *write_profile(void *data)
{
  mp_ctx *c = data;
  char msg[512];
  int err;
  take_walk(c);
  err = mp_final_report(c, msg, sizeof(msg));
  mp_ctx_end(c);
  mp_ctx_bury(c);
  writing = false;
  if (err != 0) fail(msg);
  else block.phase = MP_ATTACH_DONE;
  mp_signal_release();
  mp_guard_leave();
  return NULL;
}

/* The same for a profile that continues. */
static void *write_meanwhile(void *data)
{
  mp_ctx *c = data;
  double leaked;
  char msg[512];
  mp_report_write(&c->report, &c->plan, &leaked, msg, sizeof(msg));
  block.written++;
  c->final.read = false;
  return NULL;
}

/* Ends the profile in this thread. */
static void stop_here(lua_State *L)
{
  mp_ctx *c = mp_guard_get(L);
  char msg[512];
  int err;
  mp_signal_hold();
  if (c != NULL) take_walk(c);
  err = mp_guard_end(L, msg, sizeof(msg));
  mp_signal_release();
  if (err != 0) fail(msg);
  else block.phase = MP_ATTACH_DONE;
}

/* Ends the profile, and has it written aside. False: it has not ended. */
static bool stop_aside(lua_State *L)
{
  mp_ctx *c;
  mp_signal_hold();
  c = mp_guard_detach(L);
  if (c == NULL) {
    mp_signal_release();
    return false;
  }
  writer = mp_process_self();
  writing = true;
  if (!mp_aside(write_profile, c)) write_profile(c);
  return true;
}

/* A heap walk needs the VM at rest: a child makes it, if the profile is written
** aside. */
static void walk(mp_ctx *c, lua_State *L)
{
  mp_heaprequest request = c->plan.walk;
  const char *why = NULL;
  request.lasting = true;
  if (request.share <= 0) return;
  if (!mp_alloc_wants(c->profile.heap)->leaks) {
    mp_span_end(&c->profile.span, mp_cpu_time(&c->profile.cpu));
    why = mp_heapchild_begin(&c->background.child, &c->profile, L, &request);
    c->background.walks = why == NULL;
  }
  if (c->background.walks) return;
  mp_heapwalk_refresh(&c->profile, L, &request, MP_AT_END);
  if (c->profile.walk != NULL) c->profile.walk->alone = why;
}

/* Leaks need a collection in the VM; the rest is done outside of it. */
static void stop(lua_State *L)
{
  mp_ctx *c = mp_guard_get(L);
  bool ours = c != NULL && c == run && !c->final.done;
  if (c != run && run != NULL) {  /* The profile is one of another state. */
    block.phase = MP_ATTACH_DONE;
    return;
  }
  if (ours) mp_ctx_await(c);
  if (ours) mp_leaks_collect(&c->profile, L);  /* Finalizers may end it. */
  ours = ours && mp_guard_get(L) == run;
  run = NULL;
  if (ours) walk(c, L);
  if (!ours) block.phase = MP_ATTACH_DONE;
  else if (mp_alloc_wants(c->profile.heap)->leaks || !stop_aside(L))
    stop_here(L);
}

static int perform(lua_State *L)
{
  if (block.open == MP_REQUEST_START) start(L);
  else if (block.open == MP_REQUEST_STOP) stop(L);
  return 0;
}

static void perform_protected(lua_State *L)
{
  int top = lua_gettop(L);
  if (block.open == 0 || block.performing) return;
  block.performing = true;
  if (lua_cpcall(L, perform, NULL) != 0) {
    fail(lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) :
	 "not enough memory");
    lua_settop(L, top);
    if (run == NULL && !is_writing()) close_file(NULL, 0);
  }
  block.performing = false;
  block.open = 0;
}

/* -- Steps --------------------------------------------------------------- */

/* While a request is open the command may lead the thread through compiled
** code, instruction by instruction. If the command is killed then, a last step
** is left over, whose signal would end the process. */
static struct sigaction old_trap;
static bool has_trap;

/* Another SIGTRAP is the program's. Without a handler it ends the program: the
** instruction is done again, or the signal sent. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
  int code = info->si_code;
  if (code == TRAP_TRACE) return;  /* The kernel has ended the steps. */
  if (old_trap.sa_handler == SIG_IGN) return;
  if (old_trap.sa_handler == SIG_DFL) {
    sigaction(sig, &old_trap, NULL);
    mp_process_raise(sig);
  } else if ((old_trap.sa_flags & SA_SIGINFO) != 0) {
    old_trap.sa_sigaction(sig, info, context);
  } else {
    old_trap.sa_handler(sig);
  }
}

static bool is_trap_ours(void)
{
  struct sigaction now;
  return sigaction(SIGTRAP, NULL, &now) == 0 &&
	 (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_trap;
}

static void take_trap(void)
{
  struct sigaction sa;
  if (has_trap) return;
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_trap;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&sa.sa_mask);
  has_trap = sigaction(SIGTRAP, &sa, &old_trap) == 0;
  block.steps = has_trap;
}

static void leave_trap(void)
{
  block.steps = false;
  if (has_trap && is_trap_ours()) sigaction(SIGTRAP, &old_trap, NULL);
  has_trap = false;
}

/* -- The hook ------------------------------------------------------------ */

static void on_hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  lua_sethook(L, old.hook, old.mask, old.count);
  leave_trap();
  if (process != mp_process_self()) block.open = 0;  /* It forked meanwhile. */
  perform_protected(L);
}

/* LuaJIT's profiler clears the mask of the hooks while it calls back: then the
** program's hook cannot be known, and the caller has to try again. From a C
** function that compiled code has called, LuaJIT goes on in compiled code: only
** the call itself can be seen. */
static void set_hook(lua_State *L)
{
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L);
  if (hook != NULL && mask == 0 && hook != on_hook) return;
  if (hook != on_hook) {
    old.hook = hook;
    old.mask = mask;
    old.count = lua_gethookcount(L);
  }
  lua_sethook(L, on_hook, LUA_MASKCALL | LUA_MASKCOUNT, 1);
}

static void unset_hook(lua_State *L)
{
  leave_trap();
  if (lua_gethook(L) == on_hook) lua_sethook(L, old.hook, old.mask, old.count);
}

/* At a safepoint, every now and then: whether the caller has gone. Another hook
** may have taken the place of ours, which is then set again. Here the VM is at
** rest: the report after one that was written has what can be read then. */
static void look_after(mp_ctx *c, lua_State *L, double wall)
{
  (void)wall;
  if (c != run || block.performing) return;
  if (block.open == 0 && mp_clock_wall() - block.beat > lag + MP_ATTACH_LEASE)
    block.open = MP_REQUEST_STOP;
  if (block.open == MP_REQUEST_STOP) set_hook(L);
  if (!was_written || c->final.read) return;
  was_written = false;
  mp_compiler_take(&c->profile.compiler);
}

static void set_lease(mp_ctx *c)
{
  lag = mp_clock_wall() - block.beat;
  c->look = look_after;
}

/* -- The entry ----------------------------------------------------------- */

static void do_later(lua_State *L)
{
  take_trap();
  set_hook(L);
  if (run != NULL) mp_cpu_trigger(&run->profile.cpu);
}

static void write_now(void)
{
  mp_ctx *c = run;
  if (c == NULL || c->final.done || c->final.read) return;
  c->final.read = true;
  was_written = true;
  if (!mp_aside(write_meanwhile, c)) c->final.read = false;
  mp_cpu_trigger(&c->profile.cpu);  /* The next one has what it counts. */
}

#define NICE	10		/* By that it is behind the program. */

/* Loading the modules takes far longer than all else that a start does. The
** priority is the thread's alone. */
static void *open_ahead(void *data)
{
  (void)data;
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
  mp_report_prepare(path);
  block.preparing = false;
  return NULL;
}

/* Whether a profile runs, which may be of another caller. */
static uint32_t phase_now(void)
{
  return run != NULL ? MP_ATTACH_RUNNING : MP_ATTACH_NOTHING;
}

/* A forked child has no such thread. A profile of a caller that has gone runs
** until the start. */
static void prepare(const mp_attach_call *call)
{
  block.phase = phase_now();
  if (block.preparing && preparer == mp_process_self()) return;
  memcpy(path, call->path, sizeof(path));
  preparer = mp_process_self();
  block.preparing = true;
  if (!mp_aside(open_ahead, NULL)) block.preparing = false;
}

/* Whether the caller may have its request: each but a start, and what prepares
** it, is about what the caller has here. */
static bool admit(const mp_attach_call *call)
{
  bool busy = process == mp_process_self() &&
	      (block.open != 0 || is_running() || is_writing());
  if (call->version != MP_ATTACH_VERSION || block.performing) return false;
  if (!same(&call->caller, &block.caller)) {
    if ((call->request != MP_REQUEST_START &&
	 call->request != MP_REQUEST_PREPARE) ||
	(busy && !same(&call->over, &block.caller)))
      return false;
    block.caller = call->caller;
    block.phase = MP_ATTACH_NOTHING;
  }
  if (!busy) block.open = 0;
  process = mp_process_self();
  block.beat = call->beat;
  return true;
}

/* A profile whose caller has gone is still to end. */
static void forget(lua_State *L)
{
  if (is_running() && !same(&run_caller, &block.caller)) {
    block.open = MP_REQUEST_STOP;
    block.phase = MP_ATTACH_NOTHING;
    return;
  }
  block.open = 0;
  unset_hook(L);
}

__attribute__((visibility("default")))
void mp_attach_enter(const mp_attach_call *call)
{
  lua_State *L = (lua_State *)(uintptr_t)call->mainl;
  int err = errno;
  if (!admit(call)) return;
  mp_cpu_hold(true);
  if (call->request == MP_REQUEST_NONE) {
    forget(L);
  } else if (call->request == MP_REQUEST_WRITE) {
    write_now();
  } else if (call->request == MP_REQUEST_PREPARE) {
    prepare(call);
  } else {
    if (block.open != call->request) {
      memcpy(&wanted, call, sizeof(wanted));
      block.phase = phase_now();
      block.open = call->request;
    }
    if (call->now != 0) {
      unset_hook(L);
      perform_protected((lua_State *)(uintptr_t)call->now);
    } else {
      do_later(L);
    }
  }
  mp_cpu_hold(false);
  errno = err;
}
