/* SPDX-License-Identifier: MIT */
/*
** See data/clock.h.
*/
#include "config.h"

#include <time.h>

#include "data/clock.h"

static double seconds(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double mp_clock_cpu(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

double mp_clock_wall(void) { return seconds(CLOCK_MONOTONIC); }

double mp_clock_unix(void) { return (double)time(NULL); }
