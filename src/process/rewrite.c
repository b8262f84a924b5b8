/* SPDX-License-Identifier: MIT */
/*
** See process/rewrite.h.
*/
#include "config.h"

#include "data/lock.h"
#include "process/aside.h"
#include "process/rewrite.h"
#include "process/signal.h"
#include "profile/memory.h"
#include "profile/point.h"

#define REST	9.0		/* Times what the last rewriting took. */

static void write_files(mp_ctx *c)
{
  char msg[512];
  mp_signal_hold();
  mp_report_rewrite(&c->report, &c->plan, msg, sizeof(msg));
  mp_signal_release();
}

static void set(mp_ctx *c, mp_rewriting what)
{
  mp_lock();
  c->rewriting = what;
  c->final.read = what != MP_REWRITING_NOT;
  mp_unlock();
}

/* Waits for the walk, and makes the reports of the moment that it is of. */
static void *finish(void *data)
{
  mp_ctx *c = data;
  mp_heapwalk *w = mp_heapchild_end(&c->child, &c->hurry);
  set(c, MP_REWRITING);
  c->report.walk = w;
  c->report.at = &c->walked;
  if (!c->hurry) write_files(c);
  c->report.walk = NULL;
  c->report.at = NULL;
  mp_heapwalk_free(w);
  mp_moment_free(&c->walked);
  set(c, MP_REWRITING_NOT);
  return NULL;
}

/* Has a child make the walk. Returns NULL, or why that cannot be. */
static const char *begin(mp_ctx *c, lua_State *L, const mp_heapwish *wish)
{
  const char *why;
  if (wish->file) return "a .heapsnapshot is wanted";
  if (!mp_moment_take_at_rest(&c->walked, &c->profile))
    return "there is no memory for a child";
  why = mp_heapchild_begin(&c->child, &c->profile, L, wish);
  if (why != NULL) {
    mp_moment_free(&c->walked);
    return why;
  }
  c->hurry = false;
  set(c, MP_REWRITING_WAITS);
  if (!mp_aside(finish, c)) finish(c);
  return NULL;
}

/* The program has the time for itself until the next time, or most of it where
** this takes long. */
static void put_off(mp_ctx *c, double began)
{
  double now = mp_span_wall(&c->profile.span), rest = (now - began) * REST;
  c->due = now + (rest > c->plan.every ? rest : c->plan.every);
}

void mp_rewrite(mp_ctx *c, lua_State *L)
{
  mp_profile *p = &c->profile;
  double began = mp_span_wall(&p->span);
  mp_heapwish wish = c->plan.walk;
  const char *why;
  put_off(c, began);
  if (c->final.read) return;  /* The last ones are still being made. */
  mp_point_force(p);
  if (c->plan.memory) mp_memory_take(p, &c->report.state.memory);
  mp_compiler_take(&p->compiler);
  wish.lasting = true;
  if (wish.share > 0 && L != NULL) {
    why = begin(c, L, &wish);
    if (why == NULL) return;
    mp_heapwalk_refresh(p, L, &wish, MP_MEANWHILE);
    if (p->walk != NULL) p->walk->alone = why;
  }
  write_files(c);
  mp_heapwalk_drop(p);
  put_off(c, began);
}
