/* SPDX-License-Identifier: MIT */
/*
** A thread of ours that watches the CPU time of another thread of this process
** and sends it a signal whenever an interval has passed: for systems that
** permit no timer on the CPU time of a thread.
**
** A signal does not come at the exact moment, but a little later. So no ticks
** get lost where several intervals pass in between, the next signal stands for
** all of them. The intervals vary as data/timer.h says.
*/
#ifndef MP_WATCH_H
#define MP_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mp_watch {
  pid_t tid;			/* The thread that is watched. */
  int sig;			/* The signal that it is sent. */
  uint64_t interval;		/* Nanoseconds, in the mean. */
  uint64_t random;		/* For the next interval. */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool end;			/* The thread is to end: under the lock. */
  atomic_int due;		/* Intervals for which no signal came yet. */
} mp_watch;

/* Starts to watch. False: there is no thread to be had. */
bool mp_watch_start(mp_watch *w, pid_t tid, int sig, uint64_t interval,
		    uint64_t seed);

/* In the handler of its signal, whose value is the watch: the intervals that
** have passed since the last one. Async-signal-safe. */
int mp_watch_ticks(mp_watch *w);

/* Ends the thread, and waits for that. A signal may still be on its way. */
void mp_watch_stop(mp_watch *w);

#endif
