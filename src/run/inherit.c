/* SPDX-License-Identifier: MIT */
/*
** See run/inherit.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/process.h"
#include "run/inherit.h"

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
static unsigned now(void)
{
  return (unsigned)(uint64_t)(mp_clock_wall() * 1e3);
}

static bool has_estate(const mp_ctx *c)
{
  return c->heir.estate != NULL && c->profile.span.pid == getpid();
}

/* The child has a copy of the number. */
void mp_inherit_before_fork(mp_ctx *c)
{
  if (has_estate(c)) c->heir.fork = c->heir.estate->forks + 1;
}

void mp_inherit_forked(mp_ctx *c)
{
  if (!has_estate(c)) return;
  c->heir.estate->last = now();
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
	&c->heir.estate->holder, &holder, getpid()))
    return false;
  c->heir.inherits = false;
  c->heir.estate->last = now();
  return true;
}

void mp_inherit_look(mp_ctx *c)
{
  if (!c->heir.inherits || mp_process_stands_in() || !takes(c)) return;
  mp_plan_forked(&c->plan);
  c->profile.span.pid = getpid();
  mp_notes_add(&c->profile.notes, "the profiled process forked and ended; its "
	       "child continued the profile and made this report");
  c->final.done = false;
  c->final.written = false;
  taken();
}

/* Milliseconds that a parent has to leave after a fork; and those that a child
** waits for one whose fork has not returned yet. */
#define LEAVING	20
#define TOO_LONG	1000

/* Whether the parent may still be on its way from the fork to its end. */
static bool may_leave(const mp_ctx *c)
{
  const mp_estate *e = c->heir.estate;
  unsigned forks = e->forks;
  if (has_ended(c)) return false;
  return forks < c->heir.fork ||
	 (forks == c->heir.fork && now() - e->last < LEAVING);
}

void mp_inherit_settle(mp_ctx *c)
{
  const struct timespec step = { 0, 1000000 };
  int i;
  if (c->heir.inherits && !mp_process_stands_in())
    for (i = 0; i < TOO_LONG && may_leave(c); i++) nanosleep(&step, NULL);
  mp_inherit_look(c);
}
