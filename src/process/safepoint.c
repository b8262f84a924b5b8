/* SPDX-License-Identifier: MIT */
/*
** See process/safepoint.h.
*/
#include "config.h"

#include "data/lock.h"
#include "process/background.h"
#include "process/callback.h"
#include "process/ctx.h"
#include "process/inherit.h"
#include "process/safepoint.h"
#include "process/signal.h"
#include "process/trigger.h"
#include "profile/memory.h"
#include "profile/point.h"

/* -- Reports that are written again --------------------------------------- */

/*
** The files are rewritten while the program runs (option w).
** Where a heap walk is wanted, that happens in the background.
*/

#define REST	9.0		/* Times what the last rewriting took. */

/* An error is only reported at the end, if it persists. */
static void write_files(mp_ctx *c)
{
  char msg[512];
  mp_report_rewrite(&c->report, &c->plan, msg, sizeof(msg));
}

/* The program has the time for itself until the next time, or most of it where
** this takes long. */
static void put_off(mp_ctx *c, double began)
{
  double now = mp_span_wall(&c->profile.span), rest = (now - began) * REST;
  c->due = now + (rest > c->plan.every ? rest : c->plan.every);
}

/* Rewrites the files. L is at rest; NULL: the VM is not, and there is no
** walk. */
static void rewrite(mp_ctx *c, lua_State *L)
{
  mp_profile *p = &c->profile;
  double began = mp_span_wall(&p->span);
  mp_heaprequest request = c->plan.walk;
  const char *why;
  put_off(c, began);
  if (c->final.read) return;  /* The last ones are still being made. */
  mp_point_force(p);
  if (c->plan.memory) mp_memory_take(p, &c->report.state->memory);
  mp_compiler_take(&p->compiler);
  request.lasting = true;
  if (request.share > 0 && L != NULL) {
    why = mp_background_begin(c, L, &request, false, write_files);
    if (why == NULL) return;
    mp_heapwalk_refresh(p, L, &request, MP_MEANWHILE);
    if (p->walk != NULL) p->walk->alone = why;
  }
  mp_signal_hold();
  write_files(c);
  mp_signal_release();
  mp_heapwalk_drop(p);
  put_off(c, began);
}

/* -- Safepoints ----------------------------------------------------------- */

static void draw(mp_ctx *c)
{
  mp_signal_hold();
  mp_waits_count(&c->profile.waits, &c->profile.capture);
  mp_report_draw(&c->report, &c->plan, &c->screen);
  mp_signal_release();
}

/* Draws and writes if the time for that has come. L: as in mp_rewrite. */
static void write_due(mp_ctx *c, lua_State *L, double wall)
{
  if (mp_screen_due(&c->screen, wall) && !c->final.read) draw(c);
  if (c->plan.every > 0 && wall >= c->due) rewrite(c, L);
}

static void take_signal(void)
{
  mp_lock();
  mp_signal_take_again();
  mp_unlock();
}

void mp_safepoint(void *data, lua_State *L, int samples, mp_tally waiting,
		  int state)
{
  mp_ctx *c = data;
  mp_profile *p = &c->profile;
  double wall;
  mp_inherit_look(c);
  if ((c->final.done && !c->heir.inherits) || p->capture.anchor == NULL) return;
  c->thread = pthread_self();
  mp_cpu_count(&p->cpu, L, waiting, state);
  if (state != 'G') mp_alloc_look(p->heap);
  mp_alloc_settle(p->heap, L, state);
  mp_point_take(p);
  mp_waits_look(&p->waits, &p->capture);
  mp_compiler_look(&p->compiler);
  if (c->final.done) return;
  if (samples > 0) mp_callback_call(c, L, samples, state);
  wall = mp_span_wall(&p->span);
  mp_screen_look(&c->screen, wall);
  write_due(c, L, wall);
  mp_trigger_look(c, L, wall);
  if (c->look != NULL) c->look(c, L, wall);
  mp_signal_look();
  take_signal();
}

/* Whether the report of any run needs its VM at rest. */
static bool reports_need_vm(void)
{
  const mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (c->plan.leaks || c->plan.memory || c->plan.walk.share > 0) return true;
  return false;
}

void mp_safepoint_incode(void *data)
{
  mp_ctx *c = data;
  if (!mp_alloc_vm(c->profile.heap)->coarse || c->final.done ||
      c->profile.busy)
    return;
  c->thread = pthread_self();
  if (mp_signal_waits()) mp_point_force(&c->profile);
  else mp_point_take(&c->profile);
  write_due(c, NULL, mp_span_wall(&c->profile.span));
  if (!reports_need_vm()) mp_signal_look_incode();
  take_signal();
}
