/* SPDX-License-Identifier: MIT */
/*
** See sample/ticks.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "data/process.h"
#include "data/restart.h"
#include "data/timer.h"
#include "sample/lend.h"
#include "sample/sigprof.h"
#include "sample/ticks.h"
#include "vm/dispatch.h"
#include "vm/profiler.h"

/* -- Hooks that are set at a safepoint ------------------------------------ */

/*
** A hook that is set while a safepoint is under way.
**
** LuaJIT's profiler clears the mask of the hooks before it calls back, and
** restores it afterwards. A hook that a signal handler sets in between, as the
** luajit command does for SIGINT, would be lost: the program would not be
** interrupted. Such a hook is noted at the end of the safepoint and set again
** by the next signal of the timer.
*/

typedef struct mp_rehook {
  lua_State *volatile vm;	/* NULL: no hook is noted. */
  lua_Hook hook;
  int mask, count;
} mp_rehook;

/* Notes a hook that is set now: the last call in LuaJIT's callback. vm: a
** thread of that VM which lives on. LuaJIT calls back without hooks: a hook
** found now was set in between. */
static void rehook_note(mp_rehook *r, lua_State *vm)
{
  int mask = lua_gethookmask(vm);
  if (mask == 0) return;
  r->vm = NULL;
  r->hook = lua_gethook(vm);
  r->mask = mask;
  r->count = lua_gethookcount(vm);
  __sync_synchronize();
  r->vm = vm;
}

/* Sets the hook again: to be called by the handler of the timer's signal in the
** thread of the VM, not within the callback. Async-signal-safe. The callback
** may not have returned yet: the hook stays noted until it is seen in its
** place, or gone. LuaJIT keeps the function without its mask. */
static void rehook_set(mp_rehook *r)
{
  lua_State *vm = r->vm;
  if (vm == NULL) return;
  if (lua_gethook(vm) != r->hook ||
      (lua_gethookmask(vm) & r->mask) == r->mask)
    r->vm = NULL;
  else
    lua_sethook(vm, r->hook, r->mask, r->count);
}

/* Forgets the hook: the VM has no profile any more. */
static void rehook_forget(mp_rehook *r) { r->vm = NULL; }

/* -- Ticks ---------------------------------------------------------------- */

#define SIGNAL	SIGURG

#define MAX	256		/* Threads that have a timer. */

/* All but tid is written while tid is 0. */
struct mp_ticks {
  _Atomic pid_t tid;		/* The thread of the VM, or 0: for handlers. */
  atomic_int inside;		/* Handlers that may be using the rest. */
  const void *_Atomic vm;	/* Of the VM, or NULL. */
  bool used;
  mp_ticker of;
  bool own;			/* The timer is ours: this one. */
  mp_timer timer;
  /* LuaJIT has called back, and has not returned yet. The VM may run in another
  ** thread by now. */
  atomic_bool called_back;
  atomic_bool missed;		/* LuaJIT's handler has to be called again. */
  atomic_int waiting;		/* Signals of our timer, not counted yet. */
  atomic_int weight;		/* Their weights. */
  atomic_int squares;		/* Sum of the squares of their weights. */
  int asked;			/* Others, where LuaJIT counts the signals. */
  mp_rehook hook;
};

static mp_ticks all[MAX];
static atomic_int size;		/* Those behind were never used. */
static mp_ticks *_Atomic theirs;  /* The one of LuaJIT's timer, or NULL. */

static atomic_int in_prof;	/* Handlers of its signal under way. */

/* -- Timers ---------------------------------------------------------------- */

void mp_ticks_hide(mp_ticks *t)
{
  t->tid = 0;
  if (theirs == t) theirs = NULL;
  mp_lend_await(&in_prof);
  mp_lend_await(&t->inside);
}

/* For a handler in this thread, which is to call leave; NULL: there is none. */
static mp_ticks *enter(pid_t tid)
{
  int i, n = size;
  for (i = 0; i < n; i++) {
    if (all[i].tid != tid) continue;
    all[i].inside++;
    if (all[i].tid == tid) return &all[i];
    all[i].inside--;
  }
  return NULL;
}

static void leave(mp_ticks *t) { t->inside--; }

static mp_vm_place whereabouts(const mp_ticks *t, const void *context)
{
  const mp_vm *vm = t->of.layout;
  return vm->proved ? mp_vm_whereabouts(vm, context) : MP_VM_HERE;
}

/* If LuaJIT's profiler has ended in the meantime, or belongs to other code, it
** is left alone. LuaJIT's handler is called while the VM runs in this thread
** only: else another thread may be closing the VM, and take the profiler away
** between two instructions of the handler. */
static void call_luajit(mp_ticks *t, mp_vm_place place)
{
  if (place == MP_VM_ELSEWHERE || !mp_profiler_runs(t->of.cb, t->of.data))
    return;
  mp_dispatch_renew(t->of.layout);
  if (place == MP_VM_IDLE && mp_dispatch_ask(t->of.layout)) return;
  if (t->of.g == NULL) mp_sigprof_trigger();
  else if (!mp_lend_trigger(t->of.g, mp_sigprof_trigger)) t->missed = true;
}

/* -- Our timer ----------------------------------------------------------- */

static struct sigaction old;	/* The signal's action before ours. */
static int users;		/* Timers that send it. */

/* Whether it is the signal of mp_ticks_ask(). */
static bool is_asked(const siginfo_t *info)
{
  if (mp_sigprof_has_handler(&old))
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &old;
  return info->si_code == SI_TKILL && info->si_pid == mp_process_self();
}

/* Whether it is a tick, which is counted, or was asked for. The program may use
** the signal for itself, and ignore it. */
static bool is_ours(mp_ticks *t, const siginfo_t *info, mp_tally *n)
{
  *n = mp_timer_ticks(&t->timer, info, t->of.pace);
  t->waiting += n->ticks;
  t->weight += n->weight;
  t->squares += n->squares;
  return n->ticks > 0 || is_asked(info);
}

static mp_ticks_after *serve(mp_ticks *t, mp_tally ticks, const void *context,
			     void **data)
{
  mp_vm_place place = whereabouts(t, context);
  mp_ticks_after *after = NULL;
  if (place != MP_VM_ELSEWHERE && !t->called_back) {
    rehook_set(&t->hook);
    after = t->of.interrupted(t->of.user, ticks, context, data);
  }
  call_luajit(t, place);
  return after;
}

/* Whether it is of one of our timers, which may have been stopped. */
static bool is_of_timer(const siginfo_t *info)
{
  int i, n = size;
  for (i = 0; i < n; i++)
    if (mp_timer_sent(&all[i].timer, info)) return true;
  return false;
}

/* Whether it is for the program's handler. */
static bool is_programs(const siginfo_t *info)
{
  return mp_sigprof_has_handler(&old) && !is_of_timer(info) && !is_asked(info);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
  if (old.sa_flags & SA_SIGINFO) old.sa_sigaction(sig, info, context);
  else old.sa_handler(sig);
}

/* With the signals that were blocked before, but for ours. */
static void call_after(mp_ticks_after *after, void *data,
		       const ucontext_t *interrupted)
{
  sigset_t set = interrupted->uc_sigmask;
  sigaddset(&set, SIGNAL);
  pthread_sigmask(SIG_SETMASK, &set, NULL);
  after(data);
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
  mp_ticks_after *after = NULL;
  void *data = NULL;
  int saved = errno;
  mp_tally ticks = { 0, 0, 0 };
  mp_ticks *t = enter(mp_process_thread());
  bool ours = t != NULL && t->own && is_ours(t, info, &ticks);
  if (ours && mp_profiler_runs(t->of.cb, t->of.data))
    after = serve(t, ticks, context, &data);
  if (t != NULL) leave(t);
  if (!ours && is_programs(info)) pass_on(sig, info, context);
  else mp_restart_call(sig, context);  /* Without us the signal is ignored. */
  if (after != NULL) call_after(after, data, context);
  errno = saved;
}

static bool replaced;		/* The program has replaced our handler. */

/* Whether the program's handler can be called by ours. A signal that ends the
** program's system calls is to do so still. A handler that has replaced ours
** may call it. */
static bool is_passable(const struct sigaction *sa)
{
  return !replaced && (sa->sa_flags & SA_RESTART) &&
	 !(sa->sa_flags & SA_RESETHAND);
}

/* Takes the signal. False: the program uses it. Go's runtime, for one, has a
** handler for every signal. Its threads run on small stacks, and so its flags
** are kept, which ask for the signals' own stack. */
static bool take_signal(void)
{
  struct sigaction sa, now;
  if (sigaction(SIGNAL, NULL, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_tick) return true;
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_tick;
  sa.sa_flags = SA_SIGINFO | SA_RESTART;
  mp_restart_mask(&sa.sa_mask);
  if (mp_sigprof_has_handler(&now)) {
    if (!is_passable(&now)) return false;
    sa.sa_flags |= now.sa_flags;
  }
  old = now;
  return sigaction(SIGNAL, &sa, NULL) == 0;
}

static void leave_signal(void)
{
  struct sigaction sa;
  if (sigaction(SIGNAL, NULL, &sa) != 0) return;
  if ((sa.sa_flags & SA_SIGINFO) && sa.sa_sigaction == on_tick)
    sigaction(SIGNAL, &old, NULL);
  else
    replaced = true;
}

static bool start_own_timer(mp_ticks *t)
{
  const mp_ticker *of = &t->of;
  if (!mp_profiler_find(of->cb, of->data) || !mp_sigprof_known() ||
      !take_signal())
    return false;
  t->own = true;
  users++;
  if (mp_timer_start(&t->timer, MP_TIMER_TASK, of->tid, SIGNAL,
		     (uint64_t)of->interval * 1000000))
    return true;
  t->own = false;
  if (--users == 0) leave_signal();
  return false;
}

static bool is_blocked(int sig)
{
  sigset_t set;
  return pthread_sigmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, sig);
}

/* Takes back a tick that was sent to this thread while it blocks the signal:
** the program may wait for any signal. One from elsewhere is sent again. */
static bool take_back(const mp_ticks *t, siginfo_t *info)
{
  const struct timespec now = { 0, 0 };
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGNAL);
  if (sigtimedwait(&set, info, &now) != SIGNAL) return false;
  if (mp_timer_sent(&t->timer, info)) return true;
  if (info->si_code == SI_TKILL)
    syscall(SYS_rt_tgsigqueueinfo, mp_process_self(), mp_process_thread(),
	    SIGNAL, info);
  else
    syscall(SYS_rt_sigqueueinfo, mp_process_self(), SIGNAL, info);
  return false;
}

static bool is_handled_by_us(void)
{
  struct sigaction sa;
  return sigaction(SIGNAL, NULL, &sa) != 0 ||
	 ((sa.sa_flags & SA_SIGINFO) && sa.sa_sigaction == on_tick);
}

mp_ticks_fault mp_ticks_look(const mp_ticks *t, bool own)
{
  if (is_blocked(own ? SIGNAL : SIGPROF)) return MP_TICKS_BLOCKED;
  if (t == NULL || !t->own) return MP_TICKS_WELL;
  return !is_handled_by_us() ? MP_TICKS_HANDLED :
	 !mp_timer_whole(&t->timer) ? MP_TICKS_CLOSED : MP_TICKS_WELL;
}

/* -- LuaJIT's timer ------------------------------------------------------ */

/* Any thread may be interrupted; a hook is set in the VM's own. */
static void on_prof(int sig)
{
  int saved = errno;
  mp_ticks *t;
  (void)sig;
  in_prof++;
  t = theirs;
  if (!mp_profiler_known() || mp_profiler_taken()) {
    if (t != NULL && !t->called_back && mp_process_thread() == t->tid) {
      rehook_set(&t->hook);
      mp_dispatch_renew(t->of.layout);
    }
    mp_sigprof_trigger();
  }
  in_prof--;
  errno = saved;
}

static bool is_on_prof(const struct sigaction *sa)
{
  return !(sa->sa_flags & SA_SIGINFO) && sa->sa_handler == on_prof;
}

/* Puts our handler in the place of LuaJIT's. False: the program handles its
** signal. */
static bool start_their_timer(mp_ticks *t)
{
  struct sigaction sa;
  if (sigaction(SIGPROF, NULL, &sa) != 0) return false;
  if (mp_sigprof_is_luajits(&sa)) {
    sa.sa_flags &= ~SA_SIGINFO;
    sa.sa_handler = on_prof;
    sigaction(SIGPROF, &sa, NULL);
  } else if (mp_sigprof_known() && !is_on_prof(&sa)) {
    return false;
  }
  theirs = t;
  mp_sigprof_set_timer(t->of.pace != NULL ? MP_PACE_MAX : t->of.interval);
  return true;
}

/* Whether the signal has a handler that is good for LuaJIT's profiler only. */
static bool is_handled(void)
{
  struct sigaction sa;
  return sigaction(SIGPROF, NULL, &sa) == 0 &&
	 (mp_sigprof_is_luajits(&sa) || is_on_prof(&sa));
}

/* lua_close may end the profiler in one thread while another thread starts it
** for that VM: then the last steps of the start come after the end, and
** LuaJIT's handler would crash. */
void mp_ticks_clear(void)
{
  if (!mp_profiler_known() || mp_profiler_taken()) return;
  if (!mp_sigprof_armed() && !is_handled()) return;
  mp_sigprof_set_timer(0);
  if (is_handled()) signal(SIGPROF, SIG_IGN);
}

/* -- Both ---------------------------------------------------------------- */

static mp_ticks *unused(void)
{
  int i;
  for (i = 0; i < MAX && all[i].used; i++) ;
  if (i == MAX) return NULL;
  if (i == size) size++;
  return &all[i];
}

/* Starts a timer of ours, or LuaJIT's, where it is not lent. */
static bool start_timer(mp_ticks *t)
{
  if (!start_own_timer(t)) return t->of.g == NULL && start_their_timer(t);
  mp_sigprof_stop_timer();
  return true;
}

/* The handlers may come from now on. */
static void take_over(mp_ticks *t, const mp_ticker *of)
{
  t->of = *of;
  t->waiting = 0;
  t->weight = 0;
  t->squares = 0;
  t->asked = 0;
  t->called_back = t->missed = false;
  rehook_forget(&t->hook);
  t->vm = of->vm;
  t->tid = of->tid;
}

mp_ticks *mp_ticks_start(const mp_ticker *of)
{
  mp_ticks *t = unused();
  if (t == NULL) return NULL;
  t->of = *of;
  t->own = false;
  if (!start_timer(t)) return NULL;
  t->used = true;
  take_over(t, of);
  return t;
}

bool mp_ticks_own(const mp_ticks *t) { return t->own; }

bool mp_ticks_watched(const mp_ticks *t)
{
  return t->own && t->timer.kind == MP_TIMER_WATCHED;
}

const char *mp_ticks_clock(const mp_ticks *t)
{
  static const char *const names[] = {
    NULL, "thread, task clock", "thread, kernel tick", "thread, watched"
  };
  return t->own ? names[t->timer.kind] : "process, kernel tick";
}

static void end(mp_ticks *t)
{
  if (t->own && --users == 0) leave_signal();
  t->vm = NULL;
  t->used = t->own = false;
}

void mp_ticks_stop(mp_ticks *t)
{
  siginfo_t info;
  mp_ticks_hide(t);
  if (t->own) mp_timer_stop(&t->timer);
  if (t->own && is_blocked(SIGNAL)) take_back(t, &info);
  end(t);
}

void mp_ticks_receive(mp_ticks *t)
{
  siginfo_t info;
  mp_tally n;
  if (t->own && is_blocked(SIGNAL) && take_back(t, &info))
    is_ours(t, &info, &n);
}

void mp_ticks_forget(mp_ticks *t)
{
  t->tid = 0;
  t->inside = in_prof = 0;  /* Handlers of other threads are not here. */
  if (theirs == t) theirs = NULL;
  if (t->own) mp_timer_forget(&t->timer);
  end(t);
}

void mp_ticks_lend(mp_ticks *t, const void *data, void *g)
{
  pid_t tid = t->tid;
  mp_ticks_hide(t);
  t->of.data = data;
  t->of.g = g;
  t->tid = tid;
}

void mp_ticks_give(mp_ticks *t, const mp_ticker *of)
{
  mp_ticks_hide(t);
  take_over(t, of);
}

void mp_ticks_move(mp_ticks *t, pid_t tid) { t->tid = tid; }

void *mp_ticks_user(pid_t tid)
{
  int i;
  for (i = 0; i < size; i++)
    if (all[i].used && (tid == 0 || all[i].tid == tid)) return all[i].of.user;
  return NULL;
}

mp_ticks *mp_ticks_of(const void *vm)
{
  int i, n = size;
  for (i = 0; i < n; i++)
    if (all[i].vm == vm) return &all[i];
  return NULL;
}

void *mp_ticks_receiver(const mp_ticks *t) { return t->of.user; }

void mp_ticks_trigger(mp_ticks *t)
{
  if (!mp_sigprof_known() || mp_process_thread() != t->tid ||
      !mp_profiler_known() || !mp_profiler_runs(t->of.cb, t->of.data))
    return;
  if (!t->own) t->asked++;
  call_luajit(t, whereabouts(t, NULL));
}

/* A signal that is queued can be told from the program's own. */
void mp_ticks_ask(pid_t tid)
{
  siginfo_t info;
  if (!mp_sigprof_has_handler(&old)) {
    syscall(SYS_tgkill, mp_process_self(), tid, SIGNAL);
    return;
  }
  memset(&info, 0, sizeof(info));
  info.si_signo = SIGNAL;
  info.si_code = SI_QUEUE;
  info.si_pid = mp_process_self();
  info.si_uid = getuid();
  info.si_value.sival_ptr = &old;
  syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, SIGNAL, &info);
}

void mp_ticks_ask_luajit(mp_ticks *t)
{
  t->asked++;
  mp_process_raise(SIGPROF);
}

void mp_ticks_ask_again(void)
{
  int i;
  for (i = 0; i < size; i++)
    if (all[i].used && atomic_exchange(&all[i].missed, false))
      mp_ticks_ask(all[i].tid);
}

int mp_ticks_waiting(const mp_ticks *t) { return t->waiting; }

/* A tick may come between: its parts are taken one now and one later. */
mp_tally mp_ticks_take(mp_ticks *t, int samples)
{
  int n;
  if (t->own)
    return (mp_tally){
      atomic_exchange(&t->waiting, 0), atomic_exchange(&t->weight, 0),
      atomic_exchange(&t->squares, 0)
    };
  n = samples - t->asked;
  t->asked = 0;
  return mp_pace_count(t->of.pace, n, MP_PACE_MAX);
}

void mp_ticks_take_some(mp_ticks *t, mp_tally n)
{
  t->waiting -= n.ticks;
  t->weight -= n.weight;
  t->squares -= n.squares;
}

void mp_ticks_enter(mp_ticks *t) { t->called_back = true; }

void mp_ticks_leave(mp_ticks *t, lua_State *vm)
{
  if (vm != NULL) rehook_note(&t->hook, vm);
  t->called_back = false;
}
