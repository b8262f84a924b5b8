/*
** See run/fork.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdbool.h>

#include "data/lock.h"
#include "run/ctx.h"
#include "run/fork.h"

static bool per_process(const mp_ctx *c)
{
  int i;
  for (i = 0; i < c->plan.nouts; i++)
    if (!mp_output_perpid(&c->plan.outs[i])) return false;
  return true;
}

static void in_child(void)
{
  mp_ctx *c;
  int i;
  mp_lock_renew();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    mp_screen_init(&c->screen);  /* It is the parent's. */
    if (c->done || !per_process(c)) {
      c->done = true;
      continue;
    }
    for (i = 0; i < c->plan.nouts; i++) mp_output_forked(&c->plan.outs[i]);
    mp_profile_restart(&c->profile);
    c->thread = pthread_self();
  }
}

/* Under the lock no thread is in the middle of something that the child would
** find so. */
void mp_fork_install(void) { pthread_atfork(mp_lock, mp_unlock, in_child); }
