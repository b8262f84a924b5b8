/* SPDX-License-Identifier: MIT */
/*
** See data/pace.h.
*/
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "data/pace.h"

#define COST_FIRST	5e-6	/* Seconds a tick, until measured. */
#define COST_MORE	4	/* What took this many times as much was */
				/* interrupted. */
#define SHARE		1000	/* An interval is this part of the time. */

void mp_pace_init(mp_pace *p)
{
  p->passed = 0;
  p->tick = COST_FIRST;
  p->capture = 0;
}

static void average(double *cost, double seconds, double most)
{
  *cost += ((seconds < most ? seconds : most) - *cost) / 16;
}

void mp_pace_tick(mp_pace *p, double seconds)
{
  average(&p->tick, seconds, p->tick * COST_MORE);
}

void mp_pace_capture(mp_pace *p, double seconds)
{
  average(&p->capture, seconds, (p->capture + COST_FIRST) * COST_MORE);
}

int mp_pace_interval(const mp_pace *p)
{
  double by_time = p->passed / SHARE;
  double least = (p->tick + p->capture) / MP_PACE_BUDGET * 1000;
  double ms = by_time > least ? by_time : least;
  return p->passed < MP_PACE_FIRST || ms <= 1 ? 1 :
	 ms < MP_PACE_MAX ? (int)ceil(ms) : MP_PACE_MAX;
}

mp_tally mp_pace_count(mp_pace *p, int ticks, int ms)
{
  mp_tally t = { ticks, ticks, ticks };
  if (p == NULL) return t;
  t.weight *= ms;
  t.squares *= ms * ms;
  p->passed += t.weight;
  return t;
}
