/* SPDX-License-Identifier: MIT */
/*
** Two things at once, made to happen every time: functions of libc that
** LuaJIT and the core call are ours, and do in between what another thread or
** a signal handler might do there.
*/
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "check_main.h"
#include "check_state.h"

#include "luajit.h"

/* For functions that others are to call in place of libc's. */
#define INSTEAD __attribute__((visibility("default")))

#ifdef __GLIBC__
typedef __itimer_which_t timer_type;
extern int __sigaction(int sig, const struct sigaction *sa,
		       struct sigaction *old);
#else
typedef int timer_type;
static int __sigaction(int sig, const struct sigaction *sa,
		       struct sigaction *old)
{
  int (*libc)(int, const struct sigaction *, struct sigaction *);
  *(void **)&libc = dlsym(RTLD_NEXT, "sigaction");
  return libc(sig, sa, old);
}
#endif

/* -- A state is closed while it is given the profiler ---------------------- */

static lua_State *closing;	/* The state, */
static int calls_left;		/* and how many calls before it happens. */

/* lua_close begins like this. */
static void perhaps_close(void)
{
  if (closing != NULL && calls_left-- == 0) {
    lua_State *L = closing;
    closing = NULL;
    luaJIT_profile_stop(L);
  }
}

INSTEAD int setitimer(timer_type which, const struct itimerval *tm,
		      struct itimerval *old)
{
  perhaps_close();
  return (int)syscall(SYS_setitimer, which, tm, old);
}

static volatile sig_atomic_t idle;  /* No VM runs. */
static volatile sig_atomic_t calls_in_vain;
static bool watched;		/* LuaJIT's handler is called through ours. */
static struct sigaction of_luajit;

static void on_prof(int sig, siginfo_t *info, void *context)
{
  calls_in_vain += idle;
  ck_assert_ptr_nonnull(info);
  ck_assert_ptr_nonnull(context);
  if (of_luajit.sa_flags & SA_SIGINFO)
    of_luajit.sa_sigaction(sig, info, context);
  else
    of_luajit.sa_handler(sig);
}

/* The action, with our handler in the place of LuaJIT's. It is told more of
** the signal, as Tarantool's is. */
static struct sigaction watch(const struct sigaction *sa)
{
  struct sigaction with = *sa;
  of_luajit = *sa;
  with.sa_sigaction = on_prof;
  with.sa_flags |= SA_SIGINFO;
  return with;
}

INSTEAD int sigaction(int sig, const struct sigaction *sa,
		      struct sigaction *old)
{
  struct sigaction with;
  perhaps_close();
  if (watched && sig == SIGPROF && sa != NULL && sa->sa_handler != SIG_IGN &&
      sa->sa_handler != SIG_DFL) {
    with = watch(sa);
    sa = &with;
  }
  return __sigaction(sig, sa, old);
}

#define CALLS	12		/* The profiler is given with fewer calls. */

static const char use_cpu[] =
  "local t = os.clock() + 0.1 while os.clock() < t do end\n"
  "assert(require('jit.mp.core').snapshot().cpu.samples > 0)\n";

/* The state comes to its end before the next one starts, or after. */
static void close_while_given(int calls, bool before)
{
  lua_State *A = open_state(), *B = open_state(), *C = open_state();
  start(A, "fi1", "/dev/null");
  start(B, "fi1", "/dev/null");
  closing = B;
  calls_left = calls;
  run(A, "assert(mp.stop())");
  closing = NULL;
  if (before) lua_close(B);
  start(C, "fi1", "/dev/null");
  if (!before) lua_close(B);
  run(C, use_cpu);
  run(C, "assert(mp.stop())");
  start(A, "fi1", "/dev/null");
  run(A, use_cpu);
  lua_close(C);
  lua_close(A);
}

START_TEST(a_state_is_closed_while_it_is_given_the_profiler)
{
  int i;
  for (i = 0; i < CALLS; i++) {
    close_while_given(i, true);
    close_while_given(i, false);
  }
}
END_TEST

/* -- The thread of a state goes on without it ------------------------------ */

/* Another thread may be closing the state, and LuaJIT's handler would not
** notice. */
START_TEST(ticks_while_no_lua_code_runs)
{
  lua_State *L;
  clock_t end;
  watched = true;
  L = open_state();
  start(L, "fi1", "/dev/null");
  run(L, use_cpu);
  run(L, "core = require('jit.mp.core')\n"
	 "before = core.snapshot()\n"
	 "assert(before.cpu.clock:find('^thread'), before.cpu.clock)\n"
	 "own = before.info.capture == 'exact'\n");
  idle = 1;
  for (end = clock() + CLOCKS_PER_SEC / 10; clock() < end; ) ;
  idle = 0;
  lua_getglobal(L, "own");
  if (lua_toboolean(L, -1)) ck_assert_int_eq(calls_in_vain, 0);
  run(L, "for i = 1, 100 do end\n"
	 "assert(core.snapshot().cpu.samples > before.cpu.samples)\n");
  run(L, "assert(mp.stop())");
  lua_close(L);
}
END_TEST

/* -- Calls are counted without the profiler ------------------------------- */

static const char calls[] =
  "local function f() return {} end\n"
  "for i = 1, 300 do f() end\n"
  "local n = 0\n"
  "for _, row in ipairs(require('jit.mp.core').snapshot().rows) do\n"
  "  n = n + (row.calls or 0)\n"
  "end\n"
  "assert(n >= 300, n)\n";

START_TEST(a_state_counts_calls_while_another_has_the_profiler)
{
  lua_State *A = open_state(), *B = open_state();
  start(A, "fi1", "/dev/null");
  start(B, "ni1", "/dev/null");
  run(B, calls);
  run(A, "assert(mp.stop())");
  run(B, calls);
  start(A, "fi1", "/dev/null");
  luaJIT_profile_stop(B);  /* As when it is closed: it may call still. */
  run(B, calls);
  lua_close(B);
  run(A, use_cpu);
  lua_close(A);
}
END_TEST

/* -- A hook is set during a sample ----------------------------------------- */

static lua_State *to_interrupt;

static void interrupt(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted");
}

/* Shared with the child that ends. */
static struct {
  volatile int slow;		/* The next file is a long time coming. */
  volatile int files;		/* Files that were written. */
  volatile int begun;		/* One was begun. */
} *ending;

static void wait_a_while(void)
{
  if (ending == NULL) return;
  if (ending->slow) {
    ending->slow = 0;
    ending->begun = 1;
    usleep(500000);
  }
  ending->files++;
}

/* The core calls this to write a file anew, at a safepoint. The luajit
** command's handler of SIGINT does the same. */
INSTEAD int renameat(int from, const char *old, int to, const char *new)
{
  lua_State *L = to_interrupt;
  to_interrupt = NULL;
  if (L != NULL)
    lua_sethook(L, interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  wait_a_while();
  return (int)syscall(SYS_renameat, from, old, to, new);
}

static void interrupt_during_a_sample(void)
{
  lua_State *L = open_state();
  char file[256];
  file_name(file, sizeof(file), 0);
  start(L, "fi1w1", file);
  to_interrupt = L;
  alarm(60);  /* The loop has no other end. */
  ck_assert_int_ne(luaL_dostring(L, "local function f(n) return n + 1 end "
				 "local n = 0 while true do n = f(n) end"), 0);
  alarm(0);
  ck_assert_ptr_nonnull(strstr(lua_tostring(L, -1), "interrupted"));
  lua_close(L);
  ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
}

START_TEST(a_hook_is_set_during_a_sample)
{
  interrupt_during_a_sample();
}
END_TEST

static void on_urgent(int sig) { (void)sig; }

/* The program uses the signal of our timer: LuaJIT's timer has to stay. */
START_TEST(a_hook_is_set_during_a_sample_of_the_timer_of_luajit)
{
  signal(SIGURG, on_urgent);
  interrupt_during_a_sample();
}
END_TEST

/* -- The process ends while another thread makes a report ------------------ */

/* The process ends with a state that nobody has closed: a leak to a sanitizer,
** which does not look for references in LuaJIT's memory. */
void __lsan_disable(void) __attribute__((weak));

static void *stop_it(void *file)
{
  lua_State *L;
  if (__lsan_disable != NULL) __lsan_disable();
  L = open_state();
  start(L, "f", file);
  run(L, "local t = {} for i = 1, 30000 do t[i % 100 + 1] = { i } end");
  ending->slow = 1;
  run(L, "assert(mp.stop())");
  return NULL;
}

static void *write_it_again(void *file)
{
  lua_State *L = open_state();
  start(L, "fi1w1", file);
  ending->slow = 1;
  run(L, "while true do end");
  return NULL;
}

/* The status of a child whose main thread exits while that thread writes. */
static int exit_meanwhile(void *(*thread)(void *), char *file)
{
  pthread_t t;
  int status;
  pid_t pid;
  ending->slow = ending->files = ending->begun = 0;
  pid = fork();
  if (pid == 0) {
    if (pthread_create(&t, NULL, thread, file) != 0) _exit(99);
    while (!ending->begun) usleep(1000);
    exit(7);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  return status;
}

START_TEST(an_exit_while_another_thread_writes_its_report)
{
  char file[256];
  int status;
  file_name(file, sizeof(file), 0);
  ending = mmap(NULL, sizeof(*ending), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  status = exit_meanwhile(stop_it, file);
  ck_assert_int_eq(WEXITSTATUS(status), 7);
  ck_assert_int_eq(ending->files, 1);
  ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  status = exit_meanwhile(write_it_again, file);
  ck_assert_int_eq(WEXITSTATUS(status), 7);
  ck_assert_int_eq(ending->files, 2);  /* The last one is whole. */
  ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
}
END_TEST

/* -- A state is closed while a handler of its thread is under way ---------- */

static enum stage {
  NONE,
  AWAITED,			/* The next tick's handler stays under way. */
  UNDER_WAY,			/* It does, as if its thread had no turn. */
  SLEPT,			/* A thread has slept. */
  CLOSED
} _Atomic stage;

/* The handler sets the distance to the next tick. */
INSTEAD int ioctl(int fd, unsigned long request, ...)
{
  enum stage before = AWAITED;
  va_list ap;
  void *p;
  va_start(ap, request);
  p = va_arg(ap, void *);
  va_end(ap);
  if (request == PERF_EVENT_IOC_PERIOD &&
      atomic_compare_exchange_strong(&stage, &before, UNDER_WAY))
    while (stage == UNDER_WAY) ;
  return (int)syscall(SYS_ioctl, fd, request, p);
}

INSTEAD int nanosleep(const struct timespec *t, struct timespec *left)
{
  enum stage before = UNDER_WAY;
  atomic_compare_exchange_strong(&stage, &before, SLEPT);
  return (int)syscall(SYS_nanosleep, t, left);
}

static void *leave_state(void *arg)
{
  lua_State *L = open_state(), **left = arg;
  volatile unsigned n = 0;
  bool tells;
  start(L, "fi1", "/dev/null");
  run(L, "tells = require('jit.mp.core').snapshot().cpu.clock:find('task')");
  lua_getglobal(L, "tells");
  tells = lua_toboolean(L, -1);
  *left = L;
  stage = tells ? AWAITED : CLOSED;
  while (stage != CLOSED) n = n + 1;
  return NULL;
}

/* A thread of a real-time class that only yielded would wait for ever for one
** of lower priority. */
START_TEST(a_state_is_closed_while_a_handler_has_no_turn)
{
  volatile unsigned n = 0;
  lua_State *L;
  pthread_t t;
  ck_assert_int_eq(pthread_create(&t, NULL, leave_state, &L), 0);
  while (stage != UNDER_WAY && stage != CLOSED) n = n + 1;
  lua_close(L);
  stage = CLOSED;
  pthread_join(t, NULL);
}
END_TEST

CHECK_MAIN("handover", a_state_is_closed_while_it_is_given_the_profiler,
	   ticks_while_no_lua_code_runs,
	   a_state_counts_calls_while_another_has_the_profiler,
	   a_hook_is_set_during_a_sample,
	   a_hook_is_set_during_a_sample_of_the_timer_of_luajit,
	   an_exit_while_another_thread_writes_its_report,
	   a_state_is_closed_while_a_handler_has_no_turn)
