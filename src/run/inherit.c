/* SPDX-License-Identifier: MIT */
/*
** See run/inherit.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "data/process.h"
#include "run/inherit.h"

static void (*taken)(void);	/* See mp_inherit_install. */

void mp_inherit_install(void (*f)(void)) { taken = f; }

void mp_inherit_wait(mp_ctx *c, pid_t parent)
{
  if (c->heir.claimed == NULL) return;
  c->heir.inherits = true;
  c->heir.is_child = parent == c->profile.span.pid;
  mp_cpu_continue(&c->profile.cpu);
}

void mp_inherit_end(mp_ctx *c)
{
  if (c->heir.claimed != NULL) *c->heir.claimed = true;
}

/* Whether a process is there; one that has ended may not have been waited for
** yet. */
static bool lives(pid_t pid)
{
  return kill(pid, 0) == 0 || errno != ESRCH;
}

static bool has_ended(const mp_ctx *c)
{
  pid_t pid = c->profile.span.pid;
  return c->heir.is_child ? getppid() != pid : !lives(pid);
}

/* Whether the run is this process's from now on. */
static bool takes(mp_ctx *c)
{
  if (*c->heir.claimed) {
    c->heir.inherits = false;  /* There is nothing to wait for. */
    return false;
  }
  if (!has_ended(c)) return false;
  c->heir.inherits = false;
  return !atomic_exchange(c->heir.claimed, true);
}

void mp_inherit_look(mp_ctx *c)
{
  if (!c->heir.inherits || mp_process_stands_in() || !takes(c)) return;
  mp_ctx_share(c);  /* With children of this process. */
  mp_plan_forked(&c->plan);
  c->profile.span.pid = getpid();
  mp_notes_add(&c->profile.notes, "the profiled process forked and ended; its "
	       "child continued the profile and made this report");
  c->final.done = false;
  c->final.written = false;
  taken();
}
