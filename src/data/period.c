/* SPDX-License-Identifier: MIT */
/*
** The distance to the next allocation sample. See data/period.h.
*/
#include "config.h"

#include <math.h>

#include "data/period.h"

#define DISTANCE_MAX	0x1p62
#define TOOK_FIRST	400e-9	/* Seconds of a capture, until measured. */
#define TOOK_MORE	4	/* A sample that took this many times as much */
				/* was interrupted. */

/* Spreads a seed over the generator's state (splitmix64's constants). */
static uint64_t spread(uint64_t *x)
{
  uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

/* Uniform in (0, 1], by xoroshiro128+. */
static double uniform(mp_period *p)
{
  uint64_t s0 = p->rng[0], s1 = p->rng[1], sum = s0 + s1;
  s1 ^= s0;
  p->rng[0] = rotl(s0, 24) ^ s1 ^ s1 << 16;
  p->rng[1] = rotl(s1, 37);
  return ((double)(sum >> 11) + 1) * 0x1p-53;
}

void mp_period_init(mp_period *p, uint64_t mean, uint64_t seed)
{
  p->adaptive = mean == 0;
  p->mean = mean == 0 ? MP_PERIOD_FIRST : (double)mean;
  p->draws = 0;
  p->cost = TOOK_FIRST;
  p->price = mp_clock_price();
  p->allocated = p->cpu = 0;
  p->rng[0] = spread(&seed);
  p->rng[1] = spread(&seed);
}

void mp_period_took(mp_period *p, double seconds)
{
  double took = seconds + MP_PERIOD_REST, most = p->cost * TOOK_MORE;
  p->cost += ((took < most ? took : most) - p->cost) / 32;
}

void mp_period_adapt(mp_period *p, uint64_t allocated, size_t inuse,
		     double cpu)
{
  double bytes = (double)allocated - p->allocated, passed = cpu - p->cpu;
  double mean = (double)inuse / MP_PERIOD_LIVE, least;
  if (passed <= 0) return;
  p->allocated = (double)allocated;
  p->cpu = cpu;
  least = bytes / passed * p->cost / MP_PERIOD_BUDGET;
  if (mean < least) mean = least;
  /* One short burst, or one pause, says little: go half of the way. */
  mean = sqrt(p->mean * mean);
  p->mean = mean < MP_PERIOD_MIN ? MP_PERIOD_MIN :
	    mean > MP_PERIOD_MAX ? MP_PERIOD_MAX : mean;
}

int64_t mp_period_next(mp_period *p)
{
  double d;
  p->draws++;
  if (p->mean <= 1) return 1;
  d = ceil(-log(uniform(p)) * p->mean);
  return d < 1 ? 1 : d > DISTANCE_MAX ? (int64_t)DISTANCE_MAX : (int64_t)d;
}

double mp_period_weight(double mean, size_t size)
{
  double x = (double)size / mean;
  if (mean <= 1 || size == 0) return 1;
  /* The same as a series, whose next term is below 1e-9 there. */
  if (x < 0.125) return 1 / x + 0.5 + x * (1 / 12.0 - x * x / 720);
  return -1 / expm1(-x);
}
