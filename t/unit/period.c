/* SPDX-License-Identifier: MIT */
/* mp_period: the sampler's statistics. All seeds are fixed: no test here
** fails by chance. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "check_main.h"
#include "data/period.h"

/* -- The draws ----------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Anderson-Darling statistic of n values against the exponential
** distribution with that mean. Above 3.857 with probability 1%. */
static double anderson_darling(double *x, int n, double mean)
{
  double s = 0;
  int i;
  qsort(x, (size_t)n, sizeof(*x), by_value);
  for (i = 0; i < n; i++) {
    double lo = log(-expm1(-x[i] / mean)), hi = -x[n - 1 - i] / mean;
    s += (2 * i + 1) * (lo + hi);
  }
  return -n - s / n;
}

enum { DRAWS = 100000 };
static double draws[DRAWS];

/* A large mean, so that rounding up to whole bytes does not show. */
static void draw_all(uint64_t seed)
{
  mp_period p;
  int i;
  mp_period_init(&p, 1u << 30, seed);
  for (i = 0; i < DRAWS; i++) draws[i] = (double)mp_period_next(&p);
}

START_TEST(distances_are_exponential)
{
  uint64_t seed;
  for (seed = 1; seed <= 5; seed++) {
    draw_all(seed);
    ck_assert_double_lt(anderson_darling(draws, DRAWS, 0x1p30), 3.857);
  }
}
END_TEST

START_TEST(other_distributions_would_be_noticed)
{
  int i;
  draw_all(1);  /* A mean 2% off. */
  ck_assert_double_gt(anderson_darling(draws, DRAWS, 0x1.05p30), 3.857);
  draw_all(1);  /* No distances below 1% of the mean. */
  for (i = 0; i < DRAWS; i++)
    if (draws[i] < 0.01 * 0x1p30) draws[i] = 0.01 * 0x1p30;
  ck_assert_double_gt(anderson_darling(draws, DRAWS, 0x1p30), 3.857);
}
END_TEST

/* Correlation of each draw with the one `lag` before, in standard errors. */
static double correlation(int lag)
{
  double r = 0;
  int i;
  for (i = lag; i < DRAWS; i++)
    r += (draws[i] / 0x1p30 - 1) * (draws[i - lag] / 0x1p30 - 1);
  return fabs(r) / sqrt(DRAWS);
}

START_TEST(distances_are_independent)
{
  int lag;
  draw_all(1);
  for (lag = 1; lag <= 5; lag++) ck_assert_double_lt(correlation(lag), 3);
}
END_TEST

START_TEST(seeds_make_the_draws)
{
  mp_period a, b, c;
  int i, same = 0;
  mp_period_init(&a, 1u << 30, 1);
  mp_period_init(&b, 1u << 30, 1);
  mp_period_init(&c, 1u << 30, 2);
  for (i = 0; i < 100; i++) {
    int64_t d = mp_period_next(&a);
    ck_assert_int_eq(d, mp_period_next(&b));
    same += d == mp_period_next(&c);
  }
  ck_assert_int_lt(same, 2);
}
END_TEST

START_TEST(distances_have_bounds)
{
  mp_period p;
  int i;
  mp_period_init(&p, UINT64_MAX, 1);
  for (i = 0; i < 1000; i++) {
    int64_t d = mp_period_next(&p);
    ck_assert(d >= 1 && d <= INT64_C(1) << 62);
  }
  mp_period_init(&p, 2, 1);
  for (i = 0; i < 1000; i++) ck_assert_int_ge(mp_period_next(&p), 1);
}
END_TEST

/* -- Estimates ----------------------------------------------------------- */

/* A program: n allocations, by so many sites in turn. */
typedef struct program {
  const size_t *sizes;		/* Of each site. */
  int nsizes;
  int n;
} program;

typedef enum rule {
  RIGHT,			/* As the allocation sampler does it. */
  ALWAYS,			/* Large ones for certain, but weighted. */
  CARRY,			/* What a distance overshot is kept. */
  NAIVE,			/* A sample stands for N bytes. */
  STRIDE			/* The same, and it is every Nth byte. */
} rule;

/* Estimates, or the truth. */
enum { OBJECTS, BYTES, SITE, NSUMS };	/* SITE: bytes of the first one. */

static void add(double *sum, int site, double objects, size_t size)
{
  sum[OBJECTS] += objects;
  sum[BYTES] += objects * (double)size;
  if (site == 0) sum[SITE] += objects * (double)size;
}

/* The number of objects that the sample stands for. */
static double weight(const mp_period *p, size_t size, rule how)
{
  double n = p->mean / (double)size;
  if (how == STRIDE) return n;
  if (how == NAIVE) return n < 1 ? 1 : n;
  return mp_period_weight(p->mean, size);
}

/* The next distance, where the last sample lay `over` bytes before the end
** of its allocation. */
static int64_t next(mp_period *p, uint64_t allocated, int64_t over, rule how)
{
  int64_t left;
  if (mp_period_due(p)) {
    /* A program of 400 MB in a second, then of 40; the heap grows. */
    double cpu = allocated < 100e6 ? (double)allocated / 400e6 :
		 0.25 + ((double)allocated - 100e6) / 40e6;
    mp_period_adapt(p, allocated, (size_t)allocated / 4, cpu);
  }
  left = mp_period_next(p);
  if (how == STRIDE) left = (int64_t)p->mean;
  if (how == CARRY || how == STRIDE) left = left > over ? left - over : 1;
  return left;
}

static void run(const program *pr, uint64_t mean, uint64_t seed, rule how,
		double *sum)
{
  mp_period p;
  uint64_t allocated = 0;
  int64_t left;
  int i;
  memset(sum, 0, NSUMS * sizeof(*sum));
  mp_period_init(&p, mean, seed);
  left = next(&p, 0, 0, how);
  for (i = 0; i < pr->n; i++) {
    size_t s = pr->sizes[i % pr->nsizes];
    allocated += s;
    if (left <= (int64_t)s || (how == ALWAYS && (double)s >= p.mean)) {
      add(sum, i % pr->nsizes, weight(&p, s, how), s);
      left = next(&p, allocated, (int64_t)s - left, how);
    } else {
      left -= (int64_t)s;
    }
  }
}

/* The error of the mean of 200 runs, in standard errors: the worst
** of objects, bytes and the first site's bytes. */
static double off(const program *pr, uint64_t mean, rule how)
{
  enum { RUNS = 200 };
  double truth[NSUMS] = { 0 }, sum[NSUMS] = { 0 }, sq[NSUMS] = { 0 };
  double worst = 0;
  int i, k;
  for (i = 0; i < pr->n; i++)
    add(truth, i % pr->nsizes, 1, pr->sizes[i % pr->nsizes]);
  for (i = 0; i < RUNS; i++) {
    double e[NSUMS];
    run(pr, mean, (uint64_t)i + 1000, how, e);
    for (k = 0; k < NSUMS; k++) {
      double error = e[k] / truth[k] - 1;
      sum[k] += error;
      sq[k] += error * error;
    }
  }
  for (k = 0; k < NSUMS; k++) {
    double m = sum[k] / RUNS;
    double se = sqrt(fmax(sq[k] / RUNS - m * m, 0) / (RUNS - 1));
    /* Sizes far above the period are never missed: no error to speak of. */
    double z = se > 1e-12 ? fabs(m) / se : fabs(m) > 1e-6 ? 1e9 : 0;
    if (z > worst) worst = z;
  }
  return worst;
}

#define K64 65536u

/* Enough allocations of that size for about 500 samples in each run. */
static program of_size(const size_t *size)
{
  double n = -500 / expm1(-(double)*size / K64);
  double most = getenv("MP_TEST_SLOW") ? 20000 : 200000;
  program pr = { size, 1, (int)(n < most ? n : most) };
  return pr;
}

START_TEST(unbiased_for_every_size)
{
  size_t size;
  for (size = 16; size <= (16u << 20); size *= 2) {
    program pr = of_size(&size);
    double z = off(&pr, K64, RIGHT);
    ck_assert_msg(z < 3, "size %zu is off by %.1f standard errors", size, z);
  }
}
END_TEST

START_TEST(unbiased_for_mixed_sizes)
{
  static const size_t sizes[] = { 16, 40, 65536, 24, 100000, 1u << 20, 32 };
  program pr = { sizes, 7, 7000 };
  ck_assert_double_lt(off(&pr, K64, RIGHT), 3);
}
END_TEST

START_TEST(unbiased_at_the_period_itself)
{
  static const size_t sizes[] = { K64 };
  program pr = { sizes, 1, 5000 };
  ck_assert_double_lt(off(&pr, K64, RIGHT), 3);
}
END_TEST

/* Where a distance that is rounded the wrong way would show. */
START_TEST(unbiased_for_small_periods)
{
  static const size_t sizes[] = { 24, 1, 16, 40, 3 };
  program pr = { sizes, 5, 5000 };
  uint64_t mean;
  for (mean = 2; mean <= 64; mean *= 2)
    ck_assert_double_lt(off(&pr, mean, RIGHT), 3);
}
END_TEST

START_TEST(unbiased_while_the_period_adapts)
{
  static const size_t sizes[] = { 64, 4096, 300000, 100, 20000 };
  program pr = { sizes, 5, 5000 };  /* 324 MB. */
  ck_assert_double_lt(off(&pr, 0, RIGHT), 3);
}
END_TEST

/* The same criterion rejects wrong samplers on programs where it lets the
** right one pass. */
START_TEST(wrong_samplers_are_rejected)
{
  static const size_t large[] = { 2 * K64 }, small[] = { K64 / 4 };
  static const size_t mixed[] = { 100, 300000 };
  static const size_t aliased[] = { K64 / 4, K64 / 4 * 3 };
  static const struct {
    rule how;
    program pr;
  } wrong[] = {
    { ALWAYS, { large, 1, 500 } },
    { CARRY, { mixed, 2, 2000 } },
    { NAIVE, { small, 1, 2000 } },
    { STRIDE, { aliased, 2, 2000 } }
  };
  size_t i;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    double z = off(&wrong[i].pr, K64, wrong[i].how);
    ck_assert_msg(z > 10, "rule %d passes: %.1f", (int)wrong[i].how, z);
    z = off(&wrong[i].pr, K64, RIGHT);
    ck_assert_msg(z < 3, "program %d is off by %.1f", (int)wrong[i].how, z);
  }
}
END_TEST

/* -- Weights and periods ------------------------------------------------- */

START_TEST(weight_times_probability_is_one)
{
  mp_period p;
  size_t size;
  mp_period_init(&p, K64, 1);
  for (size = 1; size < (1u << 30); size = size * 3 + 1) {
    double prob = -expm1(-(double)size / K64);
    ck_assert_double_eq_tol(mp_period_weight(p.mean, size) * prob, 1, 1e-12);
  }
  ck_assert_double_ge(mp_period_weight(p.mean, (size_t)1 << 31), 1);
}
END_TEST

START_TEST(a_period_of_one_counts_everything)
{
  mp_period p;
  int i;
  mp_period_init(&p, 1, 1);
  for (i = 0; i < 1000; i++) {
    ck_assert_int_eq(mp_period_next(&p), 1);
    ck_assert(mp_period_weight(p.mean, (size_t)i) == 1);
  }
}
END_TEST

static double tick;		/* Seconds: the clock moves so far at once. */

/* The clock after so many seconds. */
static double clock_at(double seconds)
{
  return tick > 0 ? floor(seconds / tick) * tick : seconds;
}

/* Runs a program of so many bytes, at so many in a second of CPU time, with
** so many in use, whose captures take so long. Returns the samples' number. */
static int samples(mp_period *p, double bytes, double rate, size_t inuse,
		   double took)
{
  uint64_t allocated = 0;
  int count = 0;
  mp_period_init(p, 0, 7);
  for (; (double)allocated < bytes; count++) {
    if (mp_period_timed(p)) mp_period_took(p, took);
    if (mp_period_due(p))
      mp_period_adapt(p, allocated, inuse,
		      clock_at((double)allocated / rate));
    allocated += (uint64_t)mp_period_next(p);
  }
  return count;
}

/* Quick programs: sampling takes its part of the time, whatever it costs. */
START_TEST(the_adaptive_period_keeps_to_its_budget)
{
  static const double took[] = { 50e-9, 200e-9, 1e-6, 4e-6 };
  mp_period p;
  size_t i;
  for (i = 0; i < sizeof(took) / sizeof(took[0]); i++) {
    double bytes = 4e9, rate = 1e9, seconds = bytes / rate;
    int n = samples(&p, bytes, rate, 1 << 20, took[i]);
    double part = n * (took[i] + MP_PERIOD_REST) / seconds;
    ck_assert_double_gt(part, MP_PERIOD_BUDGET * 0.8);
    ck_assert_double_lt(part, MP_PERIOD_BUDGET * 1.2);
  }
}
END_TEST

/* The same by a clock that moves at the kernel's ticks. */
START_TEST(the_adaptive_period_keeps_to_its_budget_by_a_coarse_clock)
{
  mp_period p;
  double part;
  tick = 0.004;
  part = samples(&p, 4e9, 1e9, 1 << 16, 200e-9) * (200e-9 + MP_PERIOD_REST) / 4;
  tick = 0;
  ck_assert_double_gt(part, MP_PERIOD_BUDGET * 0.8);
  ck_assert_double_lt(part, MP_PERIOD_BUDGET * 1.5);
}
END_TEST

/* Slow ones: what is in use has about MP_PERIOD_LIVE samples. */
START_TEST(the_adaptive_period_goes_by_the_heap)
{
  mp_period p;
  int i;
  for (i = 22; i <= 30; i += 2) {
    size_t inuse = (size_t)1 << i;
    samples(&p, 1e9, 1e6, inuse, 100e-9);
    ck_assert_double_eq_tol((double)inuse / p.mean, MP_PERIOD_LIVE,
			    MP_PERIOD_LIVE * 0.05);
  }
  samples(&p, 1e7, 1e5, 1 << 10, 100e-9);
  ck_assert(p.mean == MP_PERIOD_MIN);
#if SIZE_MAX > UINT32_MAX
  samples(&p, 1e11, 1e6, (size_t)1 << 40, 100e-9);
  ck_assert(p.mean == MP_PERIOD_MAX);
#endif
}
END_TEST

/* One capture that was interrupted for a while changes little. */
START_TEST(an_interruption_changes_little)
{
  mp_period p;
  int i;
  mp_period_init(&p, 0, 7);
  for (i = 0; i < 1000; i++) mp_period_took(&p, 100e-9);
  double before = p.cost;
  mp_period_took(&p, 4e-3);
  ck_assert_double_lt(p.cost, before * 1.2);
}
END_TEST

START_TEST(a_given_period_does_not_adapt)
{
  mp_period p;
  int i;
  mp_period_init(&p, 12345, 7);
  for (i = 0; i < 1000; i++) {
    ck_assert(!mp_period_due(&p) && !mp_period_timed(&p));
    mp_period_next(&p);
  }
  ck_assert(p.mean == 12345);
}
END_TEST

CHECK_MAIN("period", distances_are_exponential,
	   other_distributions_would_be_noticed, distances_are_independent,
	   seeds_make_the_draws, distances_have_bounds,
	   unbiased_for_every_size, unbiased_for_mixed_sizes,
	   unbiased_at_the_period_itself, unbiased_for_small_periods,
	   unbiased_while_the_period_adapts,
	   wrong_samplers_are_rejected, weight_times_probability_is_one,
	   a_period_of_one_counts_everything,
	   the_adaptive_period_keeps_to_its_budget,
	   the_adaptive_period_keeps_to_its_budget_by_a_coarse_clock,
	   the_adaptive_period_goes_by_the_heap,
	   an_interruption_changes_little, a_given_period_does_not_adapt)
