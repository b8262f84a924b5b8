/* SPDX-License-Identifier: MIT */
/*
** See data/thread.h.
*/
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/thread.h"

#define SECOND	1000000000u	/* Nanoseconds. */
#define BRIEF	100000u		/* The shortest that Linux allows. */

int mp_thread_start(pthread_t *thread, const pthread_attr_t *attr,
		    void *(*f)(void *data), void *data)
{
  sigset_t all, before;
  int err;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  err = pthread_create(thread, attr, f, data);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return err;
}

/* The argument of sched_setattr. */
typedef struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
} scheduling;

/* Kernels before Linux 6.12 take no notice of the time. */
void mp_thread_brief(void)
{
  const unsigned long self = 0, size = sizeof(scheduling), none = 0;
  scheduling s;
  if (syscall(SYS_sched_getattr, self, &s, size, none) != 0 ||
      (s.policy != SCHED_OTHER && s.policy != SCHED_BATCH))
    return;
  s.runtime = BRIEF;
  syscall(SYS_sched_setattr, self, &s, none);
}

/* The clock must not be set back, as that of the time of day may be. */
void mp_thread_condition(pthread_cond_t *condition)
{
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attr);
  pthread_condattr_destroy(&attr);
}

struct timespec mp_thread_after(uint64_t ns)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  ns += (uint64_t)t.tv_nsec;
  t.tv_sec += (time_t)(ns / SECOND);
  t.tv_nsec = (long)(ns % SECOND);
  return t;
}
