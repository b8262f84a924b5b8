/*
** See run/signal.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/ctx.h"
#include "run/final.h"
#include "run/signal.h"

static const int fatal[] = { SIGINT, SIGTERM, SIGHUP };
#define NFATAL ((int)(sizeof(fatal) / sizeof(fatal[0])))

static bool ours[NFATAL];	/* Signals that our handler stands for. */
static volatile sig_atomic_t pending;  /* The signal that came, or 0. */

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

void mp_signal_look(void)
{
  if (pending == 0) return;
  mp_final_report_all(true);
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
  bool asked = false;
  int saved = errno;
  if (pending != 0) {  /* No safepoint came. */
    mp_final_report_all(false);
    die_of(pending);
  }
  pending = sig;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (c->profile.cpu.has_timer) {
      asked = true;
      mp_cpu_ask(&c->profile.cpu);
    }
  once_more(sig, !asked);
  errno = saved;
}

/* Without SA_RESTART: a blocking call returns, and the VM goes on to its
** safepoint. */
void mp_signal_take(void)
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

void mp_signal_leave(void)
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
