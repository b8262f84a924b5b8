/* SPDX-License-Identifier: MIT */
/*
** See attach/stops.h.
*/
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/stops.h"
#include "data/clock.h"

#define YIELDS	200		/* Looks without a rest: the kernel makes a */
				/* rest last as long as several stops. */

void mp_stops_rest(unsigned *looks, long ns)
{
  const struct timespec step = { 0, ns };
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
