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

double mp_clock_cpu_of(pid_t pid)
{
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
    return 0;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Glibc makes this number for a pthread_t; it takes no thread's number. */
double mp_clock_thread(pid_t tid)
{
  struct timespec t;
  if (clock_gettime((clockid_t)(~(unsigned)tid << 3 | 6), &t) != 0) return -1;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double mp_clock_wall(void) { return seconds(CLOCK_MONOTONIC); }

double mp_clock_unix(void) { return (double)time(NULL); }

uint64_t mp_clock_jiffy(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t)t.tv_sec << 30 | (uint64_t)t.tv_nsec;
}

void mp_clock_pause(unsigned ms)
{
  const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
  nanosleep(&t, NULL);
}

double mp_clock_price(void)
{
  double price = 1, last = mp_clock_wall();
  int i;
  for (i = 0; i < 8; i++) {  /* The least: nothing came in between. */
    double now = mp_clock_wall();
    if (now - last < price) price = now - last;
    last = now;
  }
  return price;
}
