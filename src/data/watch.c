/* SPDX-License-Identifier: MIT */
/*
** See data/watch.h.
*/
#include "config.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/seed.h"
#include "data/watch.h"

#define SECOND		1000000000u	/* Nanoseconds. */
#define PAUSE_MAX	20000000u	/* Between two looks at a thread that */
					/* sleeps: nanoseconds. */

static void send(mp_watch *w)
{
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  info.si_signo = w->sig;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = w;
  syscall(SYS_rt_tgsigqueueinfo, info.si_pid, w->tid, w->sig, &info);
}

int mp_watch_ticks(mp_watch *w) { return atomic_exchange(&w->due, 0); }

/* Waits until the time has passed or the thread is to end, under the lock. */
static void rest(mp_watch *w, uint64_t ns)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  ns += (uint64_t)t.tv_nsec;
  t.tv_sec += (time_t)(ns / SECOND);
  t.tv_nsec = (long)(ns % SECOND);
  pthread_cond_timedwait(&w->changed, &w->lock, &t);
}

/* The thread's CPU time in nanoseconds; 0: there is no such thread. */
static uint64_t used(const mp_watch *w)
{
  double s = mp_clock_thread(w->tid);
  return s < 0 ? 0 : (uint64_t)(s * 1e9);
}

/* While the other thread sleeps this one looks ever more seldom. */
static void *watch(void *ud)
{
  mp_watch *w = ud;
  uint64_t now = used(w), last = now, pause = 0;
  uint64_t next = now + mp_seed_vary(&w->random, w->interval);
  prctl(PR_SET_NAME, "luajit-mp");
  prctl(PR_SET_TIMERSLACK, 1);
  pthread_mutex_lock(&w->lock);
  while (!w->end) {
    int n = 0;
    pause = now != last || pause == 0 ? next - now :
	    pause < PAUSE_MAX / 2 ? pause * 2 : PAUSE_MAX;
    last = now;
    rest(w, pause);
    now = used(w);
    for (; now >= next; n++) next += mp_seed_vary(&w->random, w->interval);
    if (now < last) now = last;  /* The thread has ended. */
    if (n == 0 || w->end) continue;
    w->due += n;
    send(w);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* The signals of the process are for other threads. */
static bool make_thread(mp_watch *w)
{
  sigset_t all, old;
  int err;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  err = pthread_create(&w->thread, NULL, watch, w);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return err == 0;
}

bool mp_watch_start(mp_watch *w, pid_t tid, int sig, uint64_t interval,
		    uint64_t seed)
{
  pthread_condattr_t a;
  w->tid = tid;
  w->sig = sig;
  w->interval = interval;
  w->random = seed;
  w->end = false;
  w->due = 0;
  if (mp_clock_thread(tid) < 0) return false;
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_init(&a);
  pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &a);
  pthread_condattr_destroy(&a);
  return make_thread(w);
}

void mp_watch_stop(mp_watch *w)
{
  pthread_mutex_lock(&w->lock);
  w->end = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
}
