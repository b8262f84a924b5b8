/* SPDX-License-Identifier: MIT */
/*
** See attach/stops.h.
*/
#include "config.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/stops.h"
#include "data/clock.h"

void mp_stops_rest(long ns)
{
  const struct timespec step = { 0, ns };
  nanosleep(&step, NULL);
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
  while (!mp_stops_seen(t, status)) mp_stops_rest(MP_REST);
  return !t->gone;
}

bool mp_stops_within(struct mp_tracee *t, double seconds, int *status)
{
  double end = mp_clock_wall() + seconds;
  while (!mp_stops_seen(t, status)) {
    if (mp_clock_wall() > end) return false;
    mp_stops_rest(MP_REST);
  }
  return !t->gone;
}
