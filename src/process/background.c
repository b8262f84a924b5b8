/* SPDX-License-Identifier: MIT */
/*
** See process/background.h.
*/
#include "config.h"

#include "data/lock.h"
#include "heapwalk/walk.h"
#include "process/aside.h"
#include "process/background.h"
#include "process/signal.h"

static void set(mp_ctx *c, mp_doing what)
{
  mp_lock();
  c->background.doing = what;
  c->final.read = what != MP_DOING_NOTHING;
  mp_unlock();
}

static void *finish(void *data)
{
  mp_ctx *c = data;
  mp_background *b = &c->background;
  mp_heapwalk *w = NULL;
  if (b->walks) w = mp_heapchild_end(&b->child, &b->hurry);
  b->walks = false;
  set(c, MP_DOING_REPORTS);
  if (!b->hurry) {
    c->report.walk = w;
    c->report.at = &b->moment;
    mp_signal_hold();
    b->f(c);
    mp_signal_release();
    c->report.walk = NULL;
    c->report.at = NULL;
  }
  mp_heapwalk_free(w);
  mp_moment_free(&b->moment);
  set(c, MP_DOING_NOTHING);
  return NULL;
}

const char *mp_background_begin(mp_ctx *c, lua_State *L,
				const mp_heaprequest *request, bool needed,
				void (*f)(mp_ctx *c))
{
  mp_background *b = &c->background;
  const char *why = NULL;
  if (request->file) return "a .heapsnapshot is wanted";
  if (!mp_moment_take_at_rest(&b->moment, &c->profile))
    return "there is no memory for a child";
  b->walks = request->share > 0;
  if (b->walks) why = mp_heapchild_begin(&b->child, &c->profile, L, request);
  if (why != NULL) {
    b->walks = false;
    mp_moment_free(&b->moment);
    return why;
  }
  b->f = f;
  b->needed = needed;
  b->hurry = false;
  set(c, MP_DOING_WALK);
  if (!mp_aside(finish, c)) finish(c);
  return NULL;
}
