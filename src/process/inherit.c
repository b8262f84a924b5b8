/* SPDX-License-Identifier: MIT */
/*
** See process/inherit.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/process.h"
#include "process/inherit.h"

static void (*taken)(void);	/* See mp_inherit_install. */

void mp_inherit_install(void (*f)(void)) { taken = f; }

void mp_inherit_wait(mp_ctx *c, pid_t parent)
{
  if (c->heir.estate == NULL) return;
  c->heir.inherits = true;
  c->heir.parent = parent;
  mp_cpu_continue(&c->profile.cpu);
}

void mp_inherit_end(mp_ctx *c)
{
  if (c->heir.estate != NULL) c->heir.estate->claimed = true;
}

/* Milliseconds, of which only differences count. */
static unsigned ms(double seconds)
{
  return (unsigned)(uint64_t)(seconds * 1e3);
}

static unsigned now(void) { return ms(mp_clock_wall()); }

static bool has_estate(const mp_ctx *c)
{
  return c->heir.estate != NULL && c->profile.span.pid == mp_process_self();
}

/* The child has a copy of what is noted here. */
void mp_inherit_before_fork(mp_ctx *c)
{
  if (!has_estate(c)) return;
  c->heir.fork = c->heir.estate->forks + 1;
  c->heir.forker = mp_process_thread();
}

void mp_inherit_forked(mp_ctx *c)
{
  c->heir.forked = true;
  c->heir.cpu = ms(mp_clock_cpu());
  if (!has_estate(c)) return;
  c->heir.estate->last = now();
  c->heir.estate->cpu = c->heir.cpu;
  c->heir.estate->forks++;
}

/* Whether a process is there; one that has ended may not have been waited for
** yet. */
static bool lives(pid_t pid)
{
  return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Whether the process that has the run has ended: the one that began it, or the
** child that has taken it over since, which may leave without a report, too. */
static bool has_ended(const mp_ctx *c)
{
  pid_t pid = c->heir.estate->holder;
  if (pid == 0) pid = c->profile.span.pid;
  return pid == c->heir.parent ? getppid() != pid : !lives(pid);
}

/* Whether the run is this process's from now on. */
static bool takes(mp_ctx *c)
{
  int holder = c->heir.estate->holder;
  if (c->heir.estate->claimed) {
    c->heir.inherits = false;  /* There is nothing to wait for. */
    return false;
  }
  if (!has_ended(c) || !atomic_compare_exchange_strong(
	&c->heir.estate->holder, &holder, mp_process_self()))
    return false;
  c->heir.inherits = false;
  c->heir.estate->last = now();
  return true;
}

void mp_inherit_look(mp_ctx *c)
{
  if (!c->heir.inherits || mp_process_stands_in() || !takes(c)) return;
  mp_plan_forked(&c->plan);
  c->profile.span.pid = mp_process_self();
  mp_notes_add(&c->profile.notes, "the profiled process forked and ended; its "
	       "child continued the profile and made this report");
  c->final.done = false;
  c->final.written = false;
  taken();
}

/* Milliseconds that a parent has to leave after a fork; and those that a child
** waits at most, for one whose fork has not returned yet or that waits for a
** processor. */
#define LEAVING	20
#define TOO_LONG	1000

#define EXITING	4		/* PF_EXITING of the kernel. */

/* A thread of another process, as /proc/TID/stat has it. */
typedef enum { ASLEEP, BUSY, ENDING } doing;

static doing does(pid_t tid)
{
  char buf[256], state;
  const char *p;
  unsigned flags;
  ssize_t n;
  int fd;
  snprintf(buf, sizeof(buf), "/proc/%ld/stat", (long)tid);
  fd = open(buf, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ASLEEP;
  n = read(fd, buf, sizeof(buf) - 1);
  close(fd);
  if (n <= 0) return ASLEEP;
  buf[n] = 0;
  p = strrchr(buf, ')');  /* The name before it may have any character. */
  if (p == NULL || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags)
		   != 2)
    return ASLEEP;
  if (flags & EXITING) return ENDING;
  /* R: it runs or waits for a processor. D: for the kernel. */
  return state == 'R' || state == 'D' ? BUSY : ASLEEP;
}

/* Whether the parent may still be on its way from the fork to its end. On a
** busy machine this takes long, but little of its own time; and a large process
** is a while about its end. */
static bool may_leave(const mp_ctx *c)
{
  const mp_estate *e = c->heir.estate;
  unsigned forks = e->forks;
  doing what;
  if (has_ended(c)) return false;
  if (forks != c->heir.fork) return forks < c->heir.fork;
  if (now() - e->last < LEAVING) return true;
  what = does(c->heir.forker);
  if (what != BUSY) return what == ENDING;
  return ms(mp_clock_cpu_of(c->heir.parent)) - e->cpu < LEAVING;
}

bool mp_inherit_leaves(const mp_ctx *c)
{
  return has_estate(c) && c->heir.forked &&
	 ms(mp_clock_cpu()) - c->heir.cpu < LEAVING;
}

void mp_inherit_settle(mp_ctx *c)
{
  int i;
  if (c->heir.inherits && !mp_process_stands_in())
    for (i = 0; i < TOO_LONG && may_leave(c); i++) mp_clock_pause(1);
  mp_inherit_look(c);
}
