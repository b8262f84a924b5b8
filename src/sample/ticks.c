/* SPDX-License-Identifier: MIT */
/*
** See sample/ticks.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "data/timer.h"
#include "sample/rehook.h"
#include "sample/ticks.h"
#include "vm/profiler.h"

#define SIGNAL	SIGURG

/* For the handlers. All but tid is written while tid is 0. */
static struct {
  _Atomic pid_t tid;		/* The thread of the VM, or 0. */
  luaJIT_profile_callback cb;	/* LuaJIT's profiler runs with these. */
  const void *data;
  mp_ticks_handler *interrupted;
  bool own;			/* The timer is ours: this one. */
  mp_timer timer;
  struct sigaction old;		/* What its signal did before. */
} target;

static bool watched;		/* It was a thread of ours. */

static atomic_int inside;	/* Handlers that may be using that. */

static void (*trigger)(int);	/* LuaJIT's handler, once it was seen. */

/* LuaJIT has, and has not returned yet. The VM may run in another thread by
** now. */
static atomic_bool called_back;
static atomic_int ticks;	/* Signals of our timer, not counted yet. */
static int asked;		/* Others, where LuaJIT counts the signals. */

static pid_t this_thread(void) { return (pid_t)syscall(SYS_gettid); }

/* After this call no handler uses the target: a handler that was under way, in
** the thread that had the timer, has ended. Handlers wait for nothing. */
static void no_target(void)
{
  target.tid = 0;
  while (inside != 0) sched_yield();
}

/* -- Our timer ----------------------------------------------------------- */

/* Whether it is a tick, which is counted, or was asked for. The program may use
** the signal for itself, and ignore it. */
static bool is_ours(const siginfo_t *info)
{
  int n = mp_timer_ticks(&target.timer, info);
  ticks += n;
  return n > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

/* If LuaJIT's profiler has ended in the meantime, or belongs to other code, it
** is left alone. */
static void on_tick(int sig, siginfo_t *info, void *context)
{
  mp_ticks_after *after = NULL;
  void *data = NULL;
  int saved = errno;
  (void)sig;
  inside++;
  if (this_thread() == target.tid && target.own && is_ours(info) &&
      mp_profiler_runs(target.cb, target.data)) {
    if (!called_back) {
      mp_rehook_set();
      after = target.interrupted(context, &data);
    }
    trigger(SIGPROF);
  }
  inside--;
  if (after != NULL) after(data);
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
  sa.sa_sigaction = on_tick;
  sa.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&sa.sa_mask);
  return sigaction(SIGNAL, &sa, NULL) == 0;
}

static void leave_signal(void)
{
  struct sigaction sa;
  if (sigaction(SIGNAL, NULL, &sa) == 0 && (sa.sa_flags & SA_SIGINFO) &&
      sa.sa_sigaction == on_tick)
    sigaction(SIGNAL, &target.old, NULL);
}

static bool start_own_timer(const mp_ticker *t)
{
  if (!mp_profiler_find(t->cb, t->data) || trigger == NULL || !take_signal())
    return false;
  target.own = true;
  if (mp_timer_start(&target.timer, MP_TIMER_TASK, t->tid, SIGNAL,
		     (uint64_t)t->interval * 1000000))
    return true;
  target.own = false;
  leave_signal();
  return false;
}

static bool is_blocked(int sig)
{
  sigset_t set;
  return pthread_sigmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, sig);
}

/* Takes back a tick that was sent to this thread while it blocks the signal:
** the program may wait for any signal. One from elsewhere is sent again. */
static void take_back(void)
{
  const struct timespec now = { 0, 0 };
  siginfo_t info;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGNAL);
  if (sigtimedwait(&set, &info, &now) != SIGNAL ||
      mp_timer_sent(&target.timer, &info))
    return;
  if (info.si_code == SI_TKILL)
    syscall(SYS_rt_tgsigqueueinfo, getpid(), this_thread(), SIGNAL, &info);
  else
    syscall(SYS_rt_sigqueueinfo, getpid(), SIGNAL, &info);
}

static bool is_handled_by_us(void)
{
  struct sigaction sa;
  return sigaction(SIGNAL, NULL, &sa) != 0 ||
	 ((sa.sa_flags & SA_SIGINFO) && sa.sa_sigaction == on_tick);
}

mp_ticks_fault mp_ticks_look(bool own)
{
  if (is_blocked(own ? SIGNAL : SIGPROF)) return MP_TICKS_BLOCKED;
  if (!own || !target.own) return MP_TICKS_WELL;
  return !is_handled_by_us() ? MP_TICKS_HANDLED :
	 !mp_timer_whole(&target.timer) ? MP_TICKS_CLOSED : MP_TICKS_WELL;
}

/* -- LuaJIT's timer ------------------------------------------------------ */

static bool armed;		/* It was set to an interval of ours. */

static void set_interval_timer(int ms)
{
  struct itimerval tm;
  tm.it_interval.tv_sec = tm.it_value.tv_sec = ms / 1000;
  tm.it_interval.tv_usec = tm.it_value.tv_usec = ms % 1000 * 1000;
  setitimer(ITIMER_PROF, &tm, NULL);
  armed = ms != 0;
}

/* Any thread may be interrupted; a hook is set in the VM's own. */
static void on_prof(int sig)
{
  int saved = errno;
  inside++;
  if (!mp_profiler_known() || mp_profiler_taken()) {
    if (!called_back && this_thread() == target.tid) mp_rehook_set();
    trigger(sig);
  }
  inside--;
  errno = saved;
}

/* Puts our handler in the place of LuaJIT's. */
static void start_their_timer(const mp_ticker *t)
{
  struct sigaction sa;
  if (trigger != NULL && sigaction(SIGPROF, NULL, &sa) == 0 &&
      !(sa.sa_flags & SA_SIGINFO) && sa.sa_handler == trigger) {
    sa.sa_handler = on_prof;
    sigaction(SIGPROF, &sa, NULL);
  }
  set_interval_timer(t->interval);
}

void mp_ticks_learn(void)
{
  struct sigaction sa;
  if (trigger == NULL && sigaction(SIGPROF, NULL, &sa) == 0 &&
      !(sa.sa_flags & SA_SIGINFO) && sa.sa_handler != SIG_DFL &&
      sa.sa_handler != SIG_IGN)
    trigger = sa.sa_handler;
}

/* Whether the signal has a handler that is good for LuaJIT's profiler only. */
static bool is_handled(void)
{
  struct sigaction sa;
  return sigaction(SIGPROF, NULL, &sa) == 0 && !(sa.sa_flags & SA_SIGINFO) &&
	 (sa.sa_handler == on_prof ||
	  (trigger != NULL && sa.sa_handler == trigger));
}

/* lua_close may end the profiler in one thread while another thread starts it
** for that VM: then the last steps of the start come after the end, and
** LuaJIT's handler would crash. */
void mp_ticks_clear(void)
{
  if (!mp_profiler_known() || mp_profiler_taken()) return;
  if (!armed && !is_handled()) return;
  set_interval_timer(0);
  if (is_handled()) signal(SIGPROF, SIG_IGN);
}

/* -- Both ---------------------------------------------------------------- */

const char *mp_ticks_start(const mp_ticker *t, bool *own)
{
  static const char *const names[] = {
    NULL, "thread, task clock", "thread, kernel tick", "thread, watched"
  };
  no_target();
  target.cb = t->cb;
  target.data = t->data;
  target.interrupted = t->interrupted;
  ticks = 0;
  asked = 0;
  *own = start_own_timer(t);
  watched = *own && target.timer.kind == MP_TIMER_WATCHED;
  if (*own) set_interval_timer(0);
  else start_their_timer(t);
  target.tid = t->tid;  /* The handlers may come from now on. */
  return !*own ? "process, kernel tick" : names[target.timer.kind];
}

void mp_ticks_stop(void)
{
  no_target();
  if (!target.own) return;
  mp_timer_stop(&target.timer);
  target.own = false;
  if (is_blocked(SIGNAL)) take_back();
  leave_signal();
}

bool mp_ticks_watched(void) { return watched; }

int mp_ticks_waiting(void) { return ticks; }

void mp_ticks_move(pid_t tid) { target.tid = tid; }

void mp_ticks_forget(void)
{
  target.tid = 0;
  inside = 0;  /* Other threads' handlers did not come along. */
  if (!target.own) return;
  mp_timer_forget(&target.timer);
  target.own = false;
  leave_signal();
}

void mp_ticks_trigger(void)
{
  if (trigger == NULL || this_thread() != target.tid ||
      !mp_profiler_known() || !mp_profiler_runs(target.cb, target.data))
    return;
  if (!target.own) asked++;
  trigger(SIGPROF);
}

void mp_ticks_ask(pid_t tid)
{
  syscall(SYS_tgkill, getpid(), tid, SIGNAL);
}

void mp_ticks_ask_luajit(void)
{
  asked++;
  raise(SIGPROF);
}

int mp_ticks_take(int samples)
{
  int n;
  if (target.own) return atomic_exchange(&ticks, 0);
  n = samples - asked;
  asked = 0;
  return n;
}

void mp_ticks_enter(void) { called_back = true; }

void mp_ticks_leave(lua_State *vm)
{
  if (vm != NULL) mp_rehook_note(vm);
  called_back = false;
}
