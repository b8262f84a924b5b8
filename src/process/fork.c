/* SPDX-License-Identifier: MIT */
/*
** See process/fork.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdbool.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "native/native.h"
#include "process/ctx.h"
#include "process/fork.h"
#include "process/inherit.h"
#include "process/signal.h"
#include "vm/unwind.h"

static bool per_process(const mp_ctx *c)
{
  int i;
  for (i = 0; i < c->plan.nouts; i++)
    if (!mp_output_perpid(&c->plan.outs[i])) return false;
  return true;
}

static void restart(mp_ctx *c)
{
  int i;
  mp_plan_forked(&c->plan);
  for (i = 0; i < c->plan.nouts; i++) mp_sending_free(&c->plan.sendings[i]);
  c->due = c->plan.every;  /* Its clock begins anew. */
  c->triggers.next = c->triggers.turn = 0;
  mp_ctx_no_past(c);
  mp_profile_restart(&c->profile);
}

static pid_t parent;		/* The process that forks. */

/* Whether a state of this thread is. */
static bool is_reported(void)
{
  const mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (c->background.doing == MP_DOING_REPORTS &&
	pthread_equal(c->thread, pthread_self()))
      return true;
  return false;
}

/* Takes the locks. The child will not have the thread that reports. */
static void take_locks(void)
{
  for (;;) {
    mp_native_before_fork();
    mp_lock();
    if (!is_reported()) return;
    mp_unlock();
    mp_native_parent();
    mp_clock_pause(1);
  }
}

static void before_fork(void)
{
  mp_ctx *c;
  take_locks();
  mp_unwind_before_fork();
  for (c = mp_ctx_list(); c != NULL; c = c->next) mp_inherit_before_fork(c);
  parent = mp_process_self();
}

/* Whether a run continues in the child: the VM of a thread that the child does
** not have will never run again. */
static bool goes_on(const mp_ctx *c)
{
  return (!c->final.done || c->heir.inherits) &&
	 pthread_equal(c->thread, pthread_self());
}

static bool has_report(mp_ctx *c)
{
  bool on;
  if (c->background.doing == MP_DOING_WALK) c->final.read = false;
  c->background.doing = MP_DOING_NOTHING;
  on = goes_on(c) && !c->final.read;
  mp_screen_init(&c->screen);  /* It is the parent's. */
  c->heir.forked = false;
  if (c->final.read)  /* By a thread that is not here. */
    c->report.state->R = NULL;
  c->final.read = false;
  if (on && !c->heir.inherits && per_process(c)) {
    restart(c);
    return true;
  }
  c->final.done = true;
  c->final.written = true;
  c->heir.inherits = false;
  if (on) mp_inherit_wait(c, parent);
  return false;
}

static void in_child(void)
{
  mp_native_forked native = MP_NATIVE_END;
  bool any = false;
  mp_ctx *c;
  mp_lock_renew();
  mp_unwind_in_child();
  mp_cpu_forked();
  mp_signal_forked();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    bool has = has_report(c);
    mp_waits_forked(&c->profile.waits, &c->profile.capture);
    if (mp_native_has(&c->profile.capture))
      native = has ? MP_NATIVE_ANEW : c->heir.inherits ? MP_NATIVE_ON :
	       MP_NATIVE_END;
    any = any || has;
  }
  mp_native_child(native);
  if (!any) mp_signal_leave();  /* There is nothing to wait for. */
}

static void in_parent(void)
{
  mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next) mp_inherit_forked(c);
  mp_unwind_in_parent();
  mp_unlock();
  mp_native_parent();
}

/* A fork under the locks: the child finds no shared data half changed. */
void mp_fork_install(void) { pthread_atfork(before_fork, in_parent, in_child); }
