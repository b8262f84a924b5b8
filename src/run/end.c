/*
** Whichever way the program ends, the report is written, once.
**
** A Lua state that is closed finalises a guard (lib/lib.c); a process that
** exits comes by here; and so does one that is told to end by a signal with
** its default action. The handler of that only sets a flag and asks the VM
** for a safepoint; where none comes within a second, because the program is
** blocked in C code, the report is made right there: it needs nothing from
** the program. Then the signal does what it would have done.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile/ctx.h"

static mp_ctx *contexts;	/* All profiles of the process. */
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;

mp_ctx *mp_end_list(void) { return contexts; }

void mp_ctx_note(mp_ctx *c, const char *text)
{
  int i;
  for (i = 0; i < MP_NOTES; i++)
    if (c->notes[i] == NULL || c->notes[i] == text) {
      c->notes[i] = text;
      return;
    }
}

/* Writes what is still to be reported. collect: the VM may be worked with. */
static void report_all(bool collect)
{
  char msg[512];
  mp_ctx *c;
  for (c = contexts; c != NULL; c = c->next) {
    if (collect && !c->done && c->pid == getpid() &&
	pthread_equal(c->thread, pthread_self()))  /* Or it may be running. */
      mp_leaks_collect(c, c->anchor);
    if (mp_report_final(c, msg, sizeof(msg)) != 0)
      fprintf(stderr, "luajit-mp: %s\n", msg);
  }
}

static void report_at_exit(void) { report_all(true); }

/* -- Signals ------------------------------------------------------------- */

static const int fatal[] = { SIGINT, SIGTERM, SIGHUP };
#define NFATAL ((int)(sizeof(fatal) / sizeof(fatal[0])))

static bool ours[NFATAL];	/* Signals that our handler stands for. */
static volatile sig_atomic_t pending;  /* The signal that came, or 0. */

bool mp_end_signalled(void) { return pending != 0; }

static void die_of(int sig)
{
  sigset_t set;
  signal(sig, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, sig);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  kill(getpid(), sig);
  for (;;) pause();
}

void mp_end_by_signal(bool safepoint)
{
  report_all(safepoint);
  die_of(pending);
}

/* Sends the signal once more, in a while. */
static void once_more(int sig, bool soon)
{
  struct sigevent ev;
  struct itimerspec when;
  timer_t t;
  memset(&ev, 0, sizeof(ev));
  ev.sigev_notify = SIGEV_SIGNAL;
  ev.sigev_signo = sig;
  memset(&when, 0, sizeof(when));
  when.it_value.tv_sec = !soon;
  when.it_value.tv_nsec = soon ? 10000000 : 0;
  if (timer_create(CLOCK_MONOTONIC, &ev, &t) != 0 ||
      timer_settime(t, 0, &when, NULL) != 0)
    die_of(sig);
}

static void on_fatal(int sig)
{
  mp_ctx *c;
  bool timer = false;
  int saved = errno;
  if (pending != 0) mp_end_by_signal(false);  /* No safepoint came. */
  pending = sig;
  for (c = contexts; c != NULL; c = c->next)
    if (c->timer) {
      timer = true;
      c->raised++;
      raise(SIGPROF);
    }
  once_more(sig, !timer);
  errno = saved;
}

/* Without SA_RESTART: a blocking call returns, and the VM goes on to its
** safepoint. */
void mp_end_take_signals(void)
{
  struct sigaction sa, old;
  int i;
  memset(&sa, 0, sizeof(sa));
  sa.sa_handler = on_fatal;
  sigemptyset(&sa.sa_mask);
  for (i = 0; i < NFATAL; i++)
    if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
      ours[i] = sigaction(fatal[i], &sa, NULL) == 0;
}

static void leave_signals(void)
{
  struct sigaction old;
  int i;
  for (i = 0; i < NFATAL; i++)
    if (ours[i]) {
      ours[i] = false;
      if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == on_fatal)
	signal(fatal[i], SIG_DFL);
    }
}

/* -- Forks and exits ----------------------------------------------------- */

/* The child has a profile of its own only if all the file names say so. */
static bool per_process(const mp_ctx *c)
{
  int i;
  for (i = 0; i < c->plan.nouts; i++)
    if (!mp_output_perpid(&c->plan.outs[i])) return false;
  return true;
}

/* No thread is in the middle of something that the child would find so. */
static void before_fork(void) { mp_capture_mutex(true); }

static void after_fork_parent(void) { mp_capture_mutex(false); }

static void after_fork(void)
{
  mp_ctx *c;
  int i;
  mp_capture_forked();
  for (c = contexts; c != NULL; c = c->next) {
    c->screen.fd = -1;  /* The parent's. */
    if (c->done || !per_process(c)) {
      c->done = true;
      continue;
    }
    for (i = 0; i < c->plan.nouts; i++) mp_output_forked(&c->plan.outs[i]);
    mp_counts_restart(&c->counts);
    mp_course_free(&c->course);
    mp_alloc_restart(c);
    c->cpu_samples = 0;
    mp_point_begin(c);
    mp_timer_forked(c);
  }
}

#define STATUS_LEAK 3

static bool failed;

void mp_end_fail(void) { failed = true; }

/* A process that would exit with success says that it leaks. */
static void set_status(int status, void *unused)
{
  (void)unused;
  if (status != 0 || !failed) return;
  fflush(NULL);
  _exit(STATUS_LEAK);
}

static void install_once(void)
{
  on_exit(set_status, NULL);  /* Runs after the next. */
  atexit(report_at_exit);
  pthread_atfork(before_fork, after_fork_parent, after_fork);
}

void mp_end_enlist(mp_ctx *c)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install_once);
  pthread_mutex_lock(&list_mutex);
  if (contexts == NULL) mp_end_take_signals();
  c->next = contexts;
  contexts = c;
  pthread_mutex_unlock(&list_mutex);
}

void mp_end_delist(mp_ctx *c)
{
  mp_ctx **p;
  pthread_mutex_lock(&list_mutex);
  for (p = &contexts; *p != NULL; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
  if (contexts == NULL) leave_signals();
  pthread_mutex_unlock(&list_mutex);
}
