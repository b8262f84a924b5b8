/* SPDX-License-Identifier: MIT */
/*
** See attach/stops.h.
*/
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/stops.h"
#include "data/clock.h"

#define YIELDS	200		/* Looks without a rest: the kernel makes a */
				/* rest last as long as several stops. */

#define LEFT_MAX 64

static struct {
  pid_t tid[LEFT_MAX];
  int n;
} left;

void mp_stops_expect(pid_t tid)
{
  int i;
  for (i = 0; i < left.n; i++)
    if (left.tid[i] == tid) left.tid[i--] = left.tid[--left.n];
}

void mp_stops_leave(pid_t tid)
{
  mp_stops_expect(tid);
  if (left.n < LEFT_MAX) left.tid[left.n++] = tid;
}

/* Whether the thread has gone on, or ended. */
static bool goes_on(pid_t tid)
{
  int status;
  pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
  if (got == 0) return false;
  if (got == tid && WIFSTOPPED(status))
    ptrace(PTRACE_DETACH, tid, NULL,
	   (void *)(intptr_t)(status >> 16 != 0 ? 0 : WSTOPSIG(status)));
  return true;
}

bool mp_stops_let_go(void)
{
  int i;
  for (i = 0; i < left.n; i++)
    if (goes_on(left.tid[i])) left.tid[i--] = left.tid[--left.n];
  return left.n == 0;
}

void mp_stops_rest(unsigned *looks, long ns)
{
  const struct timespec step = { 0, ns };
  mp_stops_let_go();
  if (++*looks < YIELDS) sched_yield();
  else nanosleep(&step, NULL);
}

bool mp_stops_seen(struct mp_tracee *t, int *status)
{
  pid_t got = waitpid(t->tid, status, __WALL | WNOHANG);
  if (got == t->tid) t->gone = !WIFSTOPPED(*status);
  else if (got < 0 && errno != EINTR) t->gone = true;
  return got == t->tid || t->gone;
}

bool mp_stops_await(struct mp_tracee *t, int *status)
{
  unsigned looks = 0;
  while (!mp_stops_seen(t, status)) mp_stops_rest(&looks, MP_REST);
  return !t->gone;
}

bool mp_stops_within(struct mp_tracee *t, double seconds, int *status)
{
  double end = mp_clock_wall() + seconds;
  unsigned looks = 0;
  while (!mp_stops_seen(t, status)) {
    if (mp_clock_wall() > end) return false;
    mp_stops_rest(&looks, MP_REST);
  }
  return !t->gone;
}
