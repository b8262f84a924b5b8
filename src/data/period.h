/* SPDX-License-Identifier: MIT */
/*
** The distance to the next allocation sample, and the weight of a sample.
**
** Samples are points of a Poisson process over the bytes that the program
** allocates: the distance from one to the next is exponential with mean N.
** An allocation of s bytes is sampled when at least one point falls into it,
** which happens with probability
**
**	p(s) = 1 - exp(-s/N),
**
** whatever came before: an exponential distance has no memory, so the rest
** of a distance that overshoots the sampled allocation is dropped and a new
** one is drawn from its end. A sample of size s therefore stands for 1/p(s)
** objects and s/p(s) bytes, and the sums of these are unbiased for every mix
** of sizes. N may change from draw to draw, as long as the draw does not look
** ahead; each sample keeps the weight of the N it was drawn with.
**
** With N = 1 there is no sampling: every allocation counts, with weight 1.
**
** The adaptive period depends on the cost of samples and the size of the heap.
** It is short enough for about MP_PERIOD_LIVE samples of the memory in use, but
** so long that sampling takes no more than MP_PERIOD_BUDGET of the CPU time:
** the caller times some of the samples and reports the progress of the program
** every MP_PERIOD_STEP samples. None of this depends on the draws to come.
*/
#ifndef MP_PERIOD_H
#define MP_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/clock.h"

#define MP_PERIOD_FIRST	(16u << 10)	/* Adaptive period, at first: bytes. */
#define MP_PERIOD_MIN	512u		/* Adaptive period, at least: bytes. */
#define MP_PERIOD_MAX	(4u << 20)	/* Adaptive period, at most: bytes. */
#define MP_PERIOD_LIVE	2048		/* Samples of memory in use. */
#define MP_PERIOD_BUDGET 0.005		/* Part of the CPU time. */
#define MP_PERIOD_STEP	64		/* Draws between two adaptations. */
#define MP_PERIOD_TIMED	16		/* One draw in this many is timed. */
#define MP_PERIOD_REST	80e-9		/* Seconds of a sample that nobody */
					/* times: for its records and free. */

typedef struct mp_period {
  double mean;			/* N of the draw under way, in bytes. */
  uint64_t rng[2];		/* State of a small private generator. */
  bool adaptive;		/* N is adapted to the program. */
  uint32_t draws;		/* Made so far. */
  double cost;			/* CPU seconds a sample, moving average. */
  double price;			/* Seconds of a look at the clock. */
  double allocated, cpu;	/* At the last adaptation: bytes, seconds. */
} mp_period;

/* mean: N in bytes; 0: adaptive. Equal seeds give equal draws. */
void mp_period_init(mp_period *p, uint64_t mean, uint64_t seed);

/* Whether the capture of the sample under way is to be timed. */
static inline bool mp_period_timed(const mp_period *p)
{
  return p->adaptive && p->draws % MP_PERIOD_TIMED == 0;
}

/* The capture of the sample under way took that many seconds. */
void mp_period_took(mp_period *p, double seconds);

/* To be called before a capture and, with what that returned, after it. */
static inline double mp_period_begin(const mp_period *p)
{
  return mp_period_timed(p) ? mp_clock_wall() : 0;
}
static inline void mp_period_end(mp_period *p, double begun)
{
  if (begun != 0) mp_period_took(p, mp_clock_wall() - begun - p->price);
}

/* Whether mp_period_adapt is to be called before the next draw. */
static inline bool mp_period_due(const mp_period *p)
{
  return p->adaptive && p->draws % MP_PERIOD_STEP == 0;
}

/* Adapts N to the program: the bytes that it has allocated and has in use, and
** its CPU time in seconds. Where this clock has not moved, nothing is known: it
** may go by the kernel's ticks. */
void mp_period_adapt(mp_period *p, uint64_t allocated, size_t inuse,
		     double cpu);

/* Draws the distance in bytes (at least 1) from here to the next sample:
** the sampled allocation is the one during which the sum of the sizes
** reaches it. */
int64_t mp_period_next(mp_period *p);

/* The number of objects that a sample of that size stands for, if the draw that
** found it was made with that mean: at least 1. */
double mp_period_weight(double mean, size_t size);

#endif
