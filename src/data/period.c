/*
** When the next allocation sample is due. See data/period.h.
*/
#include "config.h"

#include <math.h>

#include "data/period.h"

#define DISTANCE_MAX 0x1p62

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
  p->mean = mean == 0 ? MP_PERIOD_MIN : (double)mean;
  p->rng[0] = spread(&seed);
  p->rng[1] = spread(&seed);
}

static double adapted(uint64_t allocated)
{
  double mean = (double)allocated / 1024;
  return mean < MP_PERIOD_MIN ? MP_PERIOD_MIN :
	 mean > MP_PERIOD_MAX ? MP_PERIOD_MAX : mean;
}

int64_t mp_period_next(mp_period *p, uint64_t allocated)
{
  double d;
  if (p->adaptive) p->mean = adapted(allocated);
  if (p->mean <= 1) return 1;
  d = ceil(-log(uniform(p)) * p->mean);
  return d < 1 ? 1 : d > DISTANCE_MAX ? (int64_t)DISTANCE_MAX : (int64_t)d;
}

double mp_period_weight(const mp_period *p, size_t size)
{
  if (p->mean <= 1 || size == 0) return 1;
  return 1 / -expm1(-(double)size / p->mean);
}
