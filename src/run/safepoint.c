/*
** See run/safepoint.h.
*/
#include "config.h"

#include "profile/point.h"
#include "run/ctx.h"
#include "run/safepoint.h"
#include "run/signal.h"
#include "sample/objects.h"

void mp_safepoint(void *data, lua_State *L, int signals, int state)
{
  mp_ctx *c = data;
  mp_profile *p = &c->profile;
  if (c->done) return;
  c->thread = pthread_self();
  mp_cpu_count(&p->cpu, L, signals, state);
  mp_objects_settle(&p->heap, L, state);
  mp_point_take(p, false);
  if (mp_screen_due(&c->screen, mp_span_wall(&p->span))) {
    mp_signal_hold(false);
    mp_report_draw(&c->report, &c->plan, &c->screen);
    mp_signal_release(false);
  }
  mp_signal_look();
  mp_signal_take_again();
}
