/*
** When the next allocation sample is due, and what it stands for.
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
** The adaptive period keeps the number of samples in bounds without knowing
** how long the program will run: N follows a 1/1024 of the bytes allocated
** so far, from 16 KiB at first to 2 MiB at most.
*/
#ifndef MP_PERIOD_H
#define MP_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_PERIOD_MIN	(16u << 10)	/* Adaptive period, at first: bytes. */
#define MP_PERIOD_MAX	(2u << 20)	/* Adaptive period, at most: bytes. */

typedef struct mp_period {
  double mean;			/* N of the draw under way, in bytes. */
  uint64_t rng[2];		/* State of a small private generator. */
  bool adaptive;		/* N grows with the program. */
} mp_period;

/* mean: N in bytes; 0: adaptive. Equal seeds give equal draws. */
void mp_period_init(mp_period *p, uint64_t mean, uint64_t seed);

/* Draws the distance in bytes (at least 1) from here to the next sample:
** the sampled allocation is the one during which the sum of the sizes
** reaches it. `allocated`: bytes that the program allocated so far. */
int64_t mp_period_next(mp_period *p, uint64_t allocated);

/* How many objects a sample of that size stands for under the draw that
** found it: at least 1. Ask before the next draw. */
double mp_period_weight(const mp_period *p, size_t size);

#endif
