/* SPDX-License-Identifier: MIT */
/*
** See process/signal.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "data/restart.h"
#include "process/ctx.h"
#include "process/ends.h"
#include "process/signal.h"
#include "process/standin.h"
#include "report/write.h"

#define PATIENCE 1000		/* Milliseconds until a safepoint must come. */
#define SOON	10		/* The same, where none can come. */
#define GRACE	300		/* For a process that is about to exit. */
#define BUSY_MAX 20		/* Times that a lock may be found held. */

static const int fatal[] = {
  SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM,
  SIGVTALRM, SIGXCPU, SIGXFSZ
};
#define NFATAL ((int)(sizeof(fatal) / sizeof(fatal[0])))

/* Threads change these, and handlers: an atomic int is always lock-free. */
static atomic_bool ours[NFATAL];  /* Signals that our handler stands for. */
static atomic_int pending;	/* The signal to die of, or 0. */
static atomic_int arrived;	/* Signals that came since. */
static atomic_int writing;	/* Reports under way. */
static atomic_int ending;	/* Reports under way at the end of a program. */
static atomic_bool asked;	/* A signal asked it to end before it did. */
static atomic_bool standing_in;	/* A child writes. */
static atomic_int busy;		/* Times that the lock was held. */

static void die_of(int sig)
{
  sigset_t set;
  signal(sig, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, sig);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  if (kill(mp_process_self(), sig) != 0) _exit(128 + sig);
  for (;;) pause();
}

/* Sends the signal after that many milliseconds. By a system call: the C
** library's timer_create may take memory. */
static void send_later(int sig, int ms)
{
  struct sigevent ev;
  struct itimerspec when;
  int timer;			/* As the kernel has it. */
  memset(&ev, 0, sizeof(ev));
  ev.sigev_notify = SIGEV_SIGNAL;
  ev.sigev_signo = sig;
  memset(&when, 0, sizeof(when));
  when.it_value.tv_sec = ms / 1000;
  when.it_value.tv_nsec = ms % 1000 * 1000000;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer) != 0 ||
      syscall(SYS_timer_settime, timer, 0, &when, NULL) != 0)
    die_of(sig);
}

/* -- Without a safepoint ------------------------------------------------- */

static bool enough(void) { return arrived >= 3; }

static void give_up(int sig)
{
  mp_say(sig == SIGQUIT ? "the report was abandoned on SIGQUIT" :
	 "the report was abandoned on the third signal");
  die_of(sig == SIGQUIT ? sig : pending ? pending : sig);
}

static void report_elsewhere(void)
{
  if (!mp_standin_report(enough, NULL) && !enough())
    mp_say("the report is lost: C code was running that could not be "
	   "interrupted");
  if (enough()) give_up(pending);
  die_of(pending);
}

/* No safepoint came in time. */
static void on_patience_lost(int sig)
{
  if (standing_in) return;
  standing_in = true;
  if (!writing && (mp_lock_is_free() || ++busy > BUSY_MAX)) report_elsewhere();
  standing_in = false;
  send_later(sig, writing ? PATIENCE : SOON);
}

/* -- The handler --------------------------------------------------------- */

/* Asks all VMs for a safepoint. False: there is nothing to report. */
static bool ask(bool *answer)
{
  bool any = false;
  mp_ctx *c;
  *answer = false;
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    if (c->final.done || c->profile.span.pid != mp_process()) continue;
    any = true;
    if (!c->profile.cpu.has_timer) continue;
    *answer = true;
    mp_cpu_ask(&c->profile.cpu);
  }
  return any;
}

static void begin(int sig)
{
  bool answer;
  if (!ask(&answer)) die_of(sig);
  if (sig == SIGPIPE || sig == SIGXFSZ) {
    standing_in = true;
    report_elsewhere();
  }
  send_later(sig, answer ? PATIENCE : SOON);
}

static void on_arrival(int sig, bool first)
{
  if (writing && (sig == SIGQUIT || enough())) give_up(sig);
  if (standing_in && sig == SIGQUIT) arrived = 3;
  if (first && !writing) begin(sig);  /* Else it has to wait. */
}

/* Of several signals that are pending, the program would die of the one that is
** delivered first. The handler begins with all of them blocked: otherwise the
** last one would run first. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
  const ucontext_t *interrupted = context;
  int saved = errno, none = 0;
  bool late = info->si_code == SI_TIMER && pending == sig, first;
  if (mp_process_borrows()) die_of(sig);
  first = !late && atomic_compare_exchange_strong(&pending, &none, sig);
  arrived += !late;
  pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
  if (late) on_patience_lost(sig);
  else on_arrival(sig, first);
  errno = saved;
}

static sigset_t all_fatal(void)
{
  sigset_t set;
  int i;
  sigemptyset(&set);
  for (i = 0; i < NFATAL; i++) sigaddset(&set, fatal[i]);
  return set;
}

/* Without SA_RESTART: a blocking call returns, and the VM goes on to its
** safepoint. */
static void take(int i)
{
  struct sigaction sa, old;
  mp_restart_except(on_fatal);  /* A timer has it come again. */
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_fatal;
  sa.sa_flags = SA_SIGINFO;
  sa.sa_mask = all_fatal();
  if (sigaction(fatal[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
      old.sa_handler == SIG_DFL)
    ours[i] = sigaction(fatal[i], &sa, NULL) == 0;
}

/* At exit and quick_exit the reports are made that remain. */
static void at_exit(void)
{
  if (mp_ctx_list() == NULL) return;
  mp_signal_hold_at_end();
  mp_final_report_all();
  mp_signal_release_at_end();
}

void mp_signal_install(void)
{
  mp_standin_install(mp_signal_waits);
  mp_process_note();
  mp_write_bound(mp_signal_waits);
  atexit(at_exit);
  at_quick_exit(at_exit);
}

void mp_signal_take(void)
{
  int i;
  if (mp_process_self() == 1) return;
  for (i = 0; i < NFATAL; i++) take(i);
}

void mp_signal_take_again(void)
{
  if (mp_process_self() != 1) take(0);
}

static void give_back(void)
{
  struct sigaction old;
  int i;
  for (i = 0; i < NFATAL; i++)
    if (ours[i]) {
      ours[i] = false;
      if (sigaction(fatal[i], NULL, &old) == 0 &&
	  (old.sa_flags & SA_SIGINFO) && old.sa_sigaction == on_fatal)
	signal(fatal[i], SIG_DFL);
    }
}

void mp_signal_leave(void)
{
  int sig = pending;
  give_back();
  pending = arrived = busy = 0;
  if (sig != 0 && (asked || !ending)) die_of(sig);
  if (sig != 0) send_later(sig, GRACE);
}

/* -- Reports ------------------------------------------------------------- */

bool mp_signal_waits(void) { return pending != 0 || mp_standin_asked(); }

static void report_and_die(void (*report)(void))
{
  mp_signal_hold();
  while (standing_in) mp_clock_pause(1);
  report();
  die_of(pending);
}

void mp_signal_look(void)
{
  if (pending != 0) report_and_die(mp_final_report_all);
}

void mp_signal_look_incode(void)
{
  if (pending != 0) report_and_die(mp_final_report_stuck);
}

void mp_signal_hold(void) { writing++; }

void mp_signal_hold_at_end(void)
{
  asked = pending != 0;
  ending++;
  mp_signal_take();
  writing++;
}

void mp_signal_release(void)
{
  int sig;
  if (--writing > 0) return;
  sig = pending;
  if (sig != 0) begin(sig);
  mp_write_settle();
}

void mp_signal_die(void)
{
  if (pending != 0) die_of(pending);
}

void mp_signal_release_at_end(void)
{
  int sig;
  ending--;
  if (--writing > 0) return;
  sig = pending;
  if (sig != 0 && asked) die_of(sig);
  if (sig != 0) send_later(sig, GRACE);
  mp_write_settle();
}

void mp_signal_forked(void)
{
  pending = arrived = writing = ending = busy = 0;
  asked = standing_in = false;
  mp_standin_install(mp_signal_waits);
}
