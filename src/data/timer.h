/* SPDX-License-Identifier: MIT */
/*
** A timer on the CPU time of one thread, which sends that thread a signal.
**
** The timer is the best that the system permits: the task clock of
** perf_event_open, which is exact to microseconds; or else a POSIX timer, which
** looks at the clock at each tick of the kernel only; or else a thread of
** ours that looks at the clock. None survives exec or a fork.
**
** The intervals of the first and the last vary at random between a half and one
** and a half times their mean, so that they never keep step with the program or
** with the kernel.
*/
#ifndef MP_TIMER_H
#define MP_TIMER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "data/pace.h"

typedef struct mp_watch {
  pid_t tid;			/* The thread that is watched. */
  int sig;			/* The signal that it is sent. */
  uint64_t interval;		/* Nanoseconds, in the mean. */
  uint64_t random;		/* For the next interval. */
  atomic_int wanted;		/* The interval from now on: milliseconds; 0: */
				/* as it is. */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool end;			/* The thread is to end: under the lock. */
  atomic_int due;		/* Intervals for which no signal came yet. */
  atomic_int time;		/* Sum of these intervals: milliseconds. */
} mp_watch;

typedef enum mp_timerkind {
  MP_TIMER_NONE,		/* Does not run. */
  MP_TIMER_TASK,		/* The task clock. */
  MP_TIMER_THREAD,		/* The POSIX timer. */
  MP_TIMER_WATCHED		/* A thread of ours. */
} mp_timerkind;

typedef struct mp_timer {
  mp_timerkind kind;
  pid_t tid;			/* The thread. */
  int sig;			/* The signal that it is sent. */
  int fd;			/* Of the task clock. */
  void *page;			/* Mapping of the task clock, or MAP_FAILED. */
  timer_t id;			/* Of the POSIX timer. */
  mp_watch watch;
  uint64_t interval;		/* Nanoseconds, in the mean. */
  uint64_t random;		/* For the next interval. */
} mp_timer;

/* Starts it for a thread of this process. best: the best kind to be tried.
** False: there is none. */
bool mp_timer_start(mp_timer *t, mp_timerkind best, pid_t tid, int sig,
		    uint64_t interval);

/* In the signal's handler: the ticks that this signal stands for; 0: it comes
** from elsewhere. pace: the interval adapts; else NULL. Async-signal-safe. */
mp_tally mp_timer_ticks(mp_timer *t, const siginfo_t *info, mp_pace *pace);

/* Whether that signal is one of the timer, which may have been stopped. */
bool mp_timer_sent(const mp_timer *t, const siginfo_t *info);

/* Whether nobody has closed the timer's descriptor. If somebody has, it ticks
** on all the same, as a rule, but at equal intervals. */
bool mp_timer_whole(const mp_timer *t);

/* Ends it. A signal may still be on its way. Safe on a timer of zeros. */
void mp_timer_stop(mp_timer *t);

/* In the child of a fork: it was the parent's. */
void mp_timer_forget(mp_timer *t);

#endif
