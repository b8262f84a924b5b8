/* SPDX-License-Identifier: MIT */
/*
** The interval of CPU samples that adapts to the run.
**
** A short run needs many samples in little time, a long one has enough of them
** in any case. So the first MP_PACE_FIRST milliseconds of CPU time have a tick
** in each, and each interval after these is about a thousandth of the time so
** far, at most MP_PACE_MAX milliseconds. It is also so long that ticks take no
** more than MP_PACE_BUDGET of the CPU time, as far as the maximum permits: what
** a tick takes is measured, as it differs much between machines.
**
** Each tick has the weight of the interval that was in force, so that sums of
** weights are unbiased: an interval depends on earlier ticks alone.
*/
#ifndef MP_PACE_H
#define MP_PACE_H

#define MP_PACE_FIRST	100	/* Milliseconds. */
#define MP_PACE_MAX	10	/* Milliseconds. */
#define MP_PACE_BUDGET	0.005	/* Part of the CPU time. */

/* Ticks, and what they stand for. */
typedef struct mp_tally {
  int ticks;
  int weight;			/* Milliseconds if the interval adapts, else */
				/* the number of ticks. */
  int squares;			/* Sum of the squares of such weights. */
} mp_tally;

typedef struct mp_pace {
  double passed;		/* Milliseconds that had ticks. */
  double tick;			/* Seconds a tick, moving average. */
  double capture;		/* Seconds a capture, moving average. */
} mp_pace;

void mp_pace_init(mp_pace *p);

/* A tick, or its capture, has taken that many seconds of CPU time. */
void mp_pace_tick(mp_pace *p, double seconds);
void mp_pace_capture(mp_pace *p, double seconds);

/* The interval that comes next, in milliseconds. */
int mp_pace_interval(const mp_pace *p);

/* Counts ticks, each after some milliseconds. p: NULL: the interval does not
** adapt. */
mp_tally mp_pace_count(mp_pace *p, int ticks, int ms);

static inline void mp_tally_add(mp_tally *t, mp_tally n)
{
  t->ticks += n.ticks;
  t->weight += n.weight;
  t->squares += n.squares;
}

static inline void mp_tally_subtract(mp_tally *t, mp_tally n)
{
  t->ticks -= n.ticks;
  t->weight -= n.weight;
  t->squares -= n.squares;
}

#endif
