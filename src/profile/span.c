/* SPDX-License-Identifier: MIT */
/*
** See profile/span.h.
*/
#include "config.h"


#include "data/clock.h"
#include "data/process.h"
#include "profile/span.h"

void mp_span_begin(mp_span *s)
{
  s->pid = mp_process_self();
  s->wall0 = mp_clock_wall();
  s->unix0 = mp_clock_unix();
  s->ended = false;
}

void mp_span_end(mp_span *s, double cpu)
{
  if (s->ended) return;
  s->wall1 = mp_clock_wall();
  s->cpu1 = cpu;
  s->ended = true;
}

void mp_span_go_on(mp_span *s) { s->ended = false; }

double mp_span_wall(const mp_span *s)
{
  return (s->ended ? s->wall1 : mp_clock_wall()) - s->wall0;
}
