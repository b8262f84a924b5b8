/* SPDX-License-Identifier: MIT */
/*
** See data/thread.h.
*/
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/process.h"
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

/* -- Room ------------------------------------------------------------------ */

#define STACK	((size_t)1 << 20)  /* Bytes. */
#define ROOM	((size_t)64 << 10)

/* Whether the C stack is the thread's own, and has that much left. A child that
** stands in for a stuck process may neither ask, which takes memory, nor start
** threads. */
static bool has_room(void)
{
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), at;
  pthread_attr_t attr;
  void *stack;
  size_t size;
  if (mp_process_stands_in() || pthread_getattr_np(pthread_self(), &attr) != 0)
    return true;
  pthread_attr_getstack(&attr, &stack, &size);
  pthread_attr_destroy(&attr);
  at = here - (uintptr_t)stack;
  return at < size && at >= ROOM;
}

typedef struct task {
  void (*f)(void *data);
  void *data;
} task;

static void *run(void *data)
{
  task *t = data;
  t->f(t->data);
  return NULL;
}

int mp_thread_start_roomy(pthread_t *thread, int state,
			  void *(*f)(void *data), void *data)
{
  pthread_attr_t attr;
  int err = pthread_attr_init(&attr);
  if (err != 0) return err;
  pthread_attr_setdetachstate(&attr, state);
  pthread_attr_setstacksize(&attr, STACK);
  err = mp_thread_start(thread, &attr, f, data);
  pthread_attr_destroy(&attr);
  return err;
}

void mp_thread_roomy(void (*f)(void *data), void *data)
{
  task t = { f, data };
  pthread_t thread;
  int before;
  if (has_room() || mp_thread_start_roomy(&thread, PTHREAD_CREATE_JOINABLE,
					  run, &t) != 0) {
    f(data);
    return;
  }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_join(thread, NULL);
  pthread_setcancelstate(before, NULL);
}

/* -- Waiting --------------------------------------------------------------- */

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
