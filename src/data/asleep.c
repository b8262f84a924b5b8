/* SPDX-License-Identifier: MIT */
/*
** See data/asleep.h.
*/
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/asleep.h"
#include "data/clock.h"
#include "data/process.h"

#ifndef SYS_close_range
#define SYS_close_range	436	/* Wherever LuaJIT runs. */
#endif
#define UNSHARE	2u		/* Of its flags. */

#define TEXT	256		/* Of a file, at most. */
#define TRIES	8

bool mp_asleep_apart(void)
{
  return syscall(SYS_close_range, 0u, ~0u, UNSHARE) == 0;
}

static int open_file(pid_t tid, const char *name)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%ld/%s", (long)tid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_file(int fd, char text[TEXT])
{
  ssize_t n = pread(fd, text, TEXT - 1, 0);
  if (n <= 0) return false;
  text[n] = '\0';
  return true;
}

/* Seconds on a processor and in the queue for one, and turns. */
static bool read_times(int fd, double *busy, double *queued, uint64_t *turns)
{
  char text[TEXT], *end;
  if (!read_file(fd, text)) return false;
  *busy = (double)strtoull(text, &end, 10) * 1e-9;
  *queued = (double)strtoull(end, &end, 10) * 1e-9;
  *turns = strtoull(end, &end, 10);
  return *turns != 0;
}

bool mp_asleep_queued(const mp_asleep *a, double *queued, uint64_t *turns)
{
  double busy;
  return read_times(a->times, &busy, queued, turns);
}

/* The clock is read first: it is better to know of sleep too late than to take
** what the thread does meanwhile for sleep. */
static bool read_sleep(int fd, mp_sleep *s)
{
  double wall = mp_clock_wall(), busy, queued;
  if (!read_times(fd, &busy, &queued, &s->turns)) return false;
  s->slept = wall - busy - queued;
  return true;
}

/* The first of schedstat's times is that of the last tick while the thread
** runs: the thread's clock is exact. All is read again if the thread has waited
** for a processor meanwhile. */
double mp_asleep_mine(void)
{
  pid_t tid = mp_process_thread();
  int fd = open_file(tid, "schedstat"), i;
  double mine = NAN, busy, queued, before = -1;
  uint64_t turns;
  for (i = 0; i < TRIES && read_times(fd, &busy, &queued, &turns); i++) {
    if (queued == before) break;
    mine = mp_clock_wall() - mp_clock_thread(tid) - queued;
    before = queued;
  }
  if (fd >= 0) close(fd);
  return mine;
}

bool mp_asleep_open(mp_asleep *a, pid_t tid)
{
  char text[TEXT];
  mp_sleep s;
  a->times = open_file(tid, "schedstat");
  a->call = open_file(tid, "syscall");
  if (a->times >= 0 && a->call >= 0 && read_sleep(a->times, &s) &&
      read_file(a->call, text))
    return true;
  mp_asleep_close(a);
  return false;
}

void mp_asleep_close(mp_asleep *a)
{
  if (a->times >= 0) close(a->times);
  if (a->call >= 0) close(a->call);
  a->times = a->call = -1;
}

#define ARGUMENTS	6		/* Of a system call. */

/* False: the thread does not sleep, which is "running". */
static bool read_call(int fd, mp_sleep *s)
{
  char text[TEXT], *end;
  int i;
  if (!read_file(fd, text)) return false;
  s->call = strtoll(text, &end, 10);
  if (end == text) return false;
  for (i = 0; s->call >= 0 && i < ARGUMENTS; i++) strtoull(end, &end, 16);
  s->sp = (uintptr_t)strtoull(end, NULL, 16);
  return true;
}

bool mp_asleep_look(const mp_asleep *a, mp_sleep *s)
{
  return read_sleep(a->times, s) && read_call(a->call, s);
}

uintptr_t mp_asleep_stack(const mp_asleep *a)
{
  mp_sleep s;
  return read_call(a->call, &s) ? s.sp : 0;
}

bool mp_asleep_still(const mp_asleep *a, const mp_sleep *s)
{
  mp_sleep now;
  return read_sleep(a->times, &now) && now.turns == s->turns;
}
