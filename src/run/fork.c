/* SPDX-License-Identifier: MIT */
/*
** See run/fork.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdbool.h>

#include "data/lock.h"
#include "run/ctx.h"
#include "run/fork.h"
#include "run/signal.h"

static bool per_process(const mp_ctx *c)
{
  int i;
  for (i = 0; i < c->plan.nouts; i++)
    if (!mp_output_perpid(&c->plan.outs[i])) return false;
  return true;
}

/* Whether a context goes on in the child: the VM of a thread that is not there
** will never run again. */
static bool goes_on(const mp_ctx *c)
{
  return !c->done && per_process(c) && pthread_equal(c->thread, pthread_self());
}

static void restart(mp_ctx *c)
{
  int i;
  for (i = 0; i < c->plan.nouts; i++) mp_output_forked(&c->plan.outs[i]);
  mp_profile_restart(&c->profile);
}

static void in_child(void)
{
  bool any = false;
  mp_ctx *c;
  mp_lock_renew();
  mp_cpu_forked();
  mp_signal_forked();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    mp_screen_init(&c->screen);  /* It is the parent's. */
    if (!goes_on(c)) {
      c->done = true;
      continue;
    }
    restart(c);
    any = true;
  }
  if (!any) mp_signal_leave();  /* There is nothing to wait for. */
}

/* A fork under the lock: the child finds no shared data half changed. */
void mp_fork_install(void) { pthread_atfork(mp_lock, mp_unlock, in_child); }
