/* SPDX-License-Identifier: MIT */
/*
** See sample/ticks.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "data/timer.h"
#include "sample/rehook.h"
#include "sample/ticks.h"
#include "vm/profiler.h"

/* -- The signal ---------------------------------------------------------- */

#define SIGNAL	SIGURG

/* All but tid is written while tid is 0. */
static struct {
  void (*trigger)(int);		/* LuaJIT's handler. */
  _Atomic pid_t tid;		/* The thread that is sent the signal, or 0. */
  luaJIT_profile_callback callback;  /* LuaJIT's profiler runs with these. */
  const void *data;
  mp_timer timer;
  struct sigaction old;		/* What the signal did before. */
} target;

static volatile sig_atomic_t called_back;  /* LuaJIT's callback runs. */
static atomic_int ticks;	/* Signals of the timer, not counted yet. */
static int asked;		/* Other signals, which LuaJIT counts as well. */

/* Where LuaJIT's profiler has ended meanwhile, or is somebody else's, it is
** left alone. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
  int saved = errno;
  (void)sig; (void)context;
  if ((pid_t)syscall(SYS_gettid) == target.tid &&
      mp_profiler_runs(target.callback, target.data)) {
    if (info->si_code != SI_TKILL) {
      ticks++;
      mp_timer_ticked(&target.timer);
    }
    if (!called_back) mp_rehook_set();
    target.trigger(SIGPROF);
  }
  errno = saved;
}

/* Takes the signal. False: the program uses it. */
static bool take_signal(void)
{
  struct sigaction sa;
  if (sigaction(SIGNAL, NULL, &target.old) != 0) return false;
  if (target.old.sa_handler != SIG_DFL && target.old.sa_handler != SIG_IGN)
    return false;
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_signal;
  sa.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&sa.sa_mask);
  return sigaction(SIGNAL, &sa, NULL) == 0;
}

static void leave_signal(void)
{
  struct sigaction sa;
  if (sigaction(SIGNAL, NULL, &sa) == 0 && (sa.sa_flags & SA_SIGINFO) &&
      sa.sa_sigaction == on_signal)
    sigaction(SIGNAL, &target.old, NULL);
}

/* -- The timer ----------------------------------------------------------- */

void mp_ticks_interval(int ms)
{
  struct itimerval tm;
  tm.it_interval.tv_sec = tm.it_value.tv_sec = ms / 1000;
  tm.it_interval.tv_usec = tm.it_value.tv_usec = ms % 1000 * 1000;
  setitimer(ITIMER_PROF, &tm, NULL);
}

bool mp_ticks_start(luaJIT_profile_callback callback, const void *data,
		    pid_t tid, int ms)
{
  struct sigaction sa;
  target.tid = 0;
  ticks = 0;
  asked = 0;
  if (!mp_profiler_find(callback, data) ||
      sigaction(SIGPROF, NULL, &sa) != 0 || (sa.sa_flags & SA_SIGINFO) ||
      sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN || !take_signal())
    return false;
  target.trigger = sa.sa_handler;
  target.callback = callback;
  target.data = data;
  if (mp_timer_start(&target.timer, MP_TIMER_TASK, tid, SIGNAL,
		     (uint64_t)ms * 1000000)) {
    target.tid = tid;  /* The handler may come from now on. */
    return true;
  }
  leave_signal();
  return false;
}

void mp_ticks_stop(void)
{
  target.tid = 0;
  if (!mp_ticks_own()) return;
  mp_timer_stop(&target.timer);
  leave_signal();
}

void mp_ticks_forked(void)
{
  target.tid = 0;
  if (!mp_ticks_own()) return;
  mp_timer_forget(&target.timer);
  leave_signal();
}

bool mp_ticks_own(void) { return target.timer.kind != MP_TIMER_NONE; }

const char *mp_ticks_clock(void)
{
  switch (target.timer.kind) {
  case MP_TIMER_TASK: return "thread, task clock";
  case MP_TIMER_THREAD: return "thread, kernel tick";
  default: return "process, kernel tick";
  }
}

/* -- Counting ------------------------------------------------------------ */

void mp_ticks_ask_thread(pid_t tid)
{
  syscall(SYS_tgkill, getpid(), tid, SIGNAL);
}

void mp_ticks_ask_luajit(void)
{
  asked++;
  raise(SIGPROF);
}

int mp_ticks_take(void) { return atomic_exchange(&ticks, 0); }

int mp_ticks_take_luajit(int samples)
{
  samples -= asked;
  asked = 0;
  return samples;
}

void mp_ticks_enter(void) { called_back = 1; }

void mp_ticks_leave(void) { called_back = 0; }
