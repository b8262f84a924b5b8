/* mp_period: the sampler's statistics. All seeds are fixed: no test here
** fails by chance. */
#include "config.h"

#include <math.h>

#include "check_main.h"
#include "mp_period.h"

/* -- The draws ----------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Anderson-Darling statistic of n values against the exponential
** distribution with that mean. Above 3.857 with probability 1 %. */
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

START_TEST(distances_are_exponential)
{
  mp_period p;
  int i;
  /* A large mean, so that rounding up to whole bytes does not show. */
  mp_period_init(&p, 1u << 30, 1);
  for (i = 0; i < DRAWS; i++) draws[i] = (double)mp_period_next(&p, 0);
  ck_assert_double_lt(anderson_darling(draws, DRAWS, 0x1p30), 3.857);
}
END_TEST

START_TEST(another_distribution_would_be_noticed)
{
  mp_period p;
  int i;
  mp_period_init(&p, 1u << 30, 1);
  for (i = 0; i < DRAWS; i++)
    draws[i] = (double)mp_period_next(&p, 0) * 0.5 + 0x1p29;
  ck_assert_double_gt(anderson_darling(draws, DRAWS, 0x1p30), 3.857);
}
END_TEST

/* -- Estimates ----------------------------------------------------------- */

/* A program: sizes in turn, n allocations. */
typedef struct program {
  const size_t *sizes;
  int nsizes;
  int n;
} program;

typedef enum rule {
  RIGHT,			/* As the allocation sampler does it. */
  ALWAYS,			/* Large ones for certain, but still weighted. */
  CARRY				/* What a distance overshot is kept. */
} rule;

/* Runs a program; estimates its objects and bytes. */
static void run(const program *pr, uint64_t mean, uint64_t seed, rule how,
		double *objects, double *bytes)
{
  mp_period p;
  uint64_t allocated = 0;
  int64_t left;
  int i;
  *objects = *bytes = 0;
  mp_period_init(&p, mean, seed);
  left = mp_period_next(&p, 0);
  for (i = 0; i < pr->n; i++) {
    size_t s = pr->sizes[i % pr->nsizes];
    bool hit = left <= (int64_t)s;
    if (how == ALWAYS && (double)s >= p.mean) hit = true;
    allocated += s;
    if (hit) {
      double w = mp_period_weight(&p, s);
      int64_t over = (int64_t)s - left;
      *objects += w;
      *bytes += w * (double)s;
      left = mp_period_next(&p, allocated);
      if (how == CARRY) left = left > over ? left - over : 1;
    } else {
      left -= (int64_t)s;
    }
  }
}

/* How many standard errors the mean of 200 runs is off the truth, the worse
** of objects and bytes. */
static double off(const program *pr, uint64_t mean, rule how)
{
  enum { RUNS = 200 };
  double truth[2] = { pr->n, 0 }, sum[2] = { 0, 0 }, sq[2] = { 0, 0 };
  double worst = 0;
  int i, k;
  for (i = 0; i < pr->n; i++)
    truth[1] += (double)pr->sizes[i % pr->nsizes];
  for (i = 0; i < RUNS; i++) {
    double e[2];
    run(pr, mean, (uint64_t)i + 1000, how, &e[0], &e[1]);
    for (k = 0; k < 2; k++) {
      e[k] = e[k] / truth[k] - 1;
      sum[k] += e[k];
      sq[k] += e[k] * e[k];
    }
  }
  for (k = 0; k < 2; k++) {
    double m = sum[k] / RUNS;
    double se = sqrt((sq[k] / RUNS - m * m) / RUNS);
    /* Sizes far above the period are never missed: no error to speak of. */
    double z = se > 1e-12 ? fabs(m) / se : fabs(m) > 1e-6 ? 1e9 : 0;
    if (z > worst) worst = z;
  }
  return worst;
}

#define K64 65536u

START_TEST(unbiased_for_every_size)
{
  size_t size;
  for (size = 16; size <= (16u << 20); size *= 2) {
    program pr = { &size, 1, 0 };
    pr.n = size < K64 ? (int)(20 * K64 / size) : 50;
    if (pr.n > 20000) pr.n = 20000;
    ck_assert_msg(off(&pr, K64, RIGHT) < 3, "size %zu is biased", size);
  }
}
END_TEST

START_TEST(unbiased_for_mixed_sizes)
{
  static const size_t sizes[] = { 16, 40, 65536, 24, 100000, 1u << 20, 32 };
  program pr = { sizes, 7, 700 };
  ck_assert_double_lt(off(&pr, K64, RIGHT), 3);
}
END_TEST

START_TEST(unbiased_at_the_period_itself)
{
  static const size_t sizes[] = { K64 };
  program pr = { sizes, 1, 1000 };
  ck_assert_double_lt(off(&pr, K64, RIGHT), 3);
}
END_TEST

START_TEST(unbiased_while_the_period_adapts)
{
  static const size_t sizes[] = { 64, 4096, 300000, 100, 20000 };
  program pr = { sizes, 5, 5000 };  /* 324 MB: from 16 to 317 KiB. */
  ck_assert_double_lt(off(&pr, 0, RIGHT), 3);
}
END_TEST

/* The test above has the power to reject wrong samplers. */
START_TEST(wrong_samplers_are_rejected)
{
  static const size_t large[] = { 2 * K64 };
  static const size_t mixed[] = { 100, 300000 };
  program pr = { large, 1, 500 }, pm = { mixed, 2, 2000 };
  ck_assert_double_gt(off(&pr, K64, ALWAYS), 3);
  ck_assert_double_gt(off(&pm, K64, CARRY), 3);
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
    ck_assert_double_eq_tol(mp_period_weight(&p, size) * prob, 1, 1e-12);
  }
  ck_assert_double_ge(mp_period_weight(&p, (size_t)1 << 40), 1);
}
END_TEST

START_TEST(a_period_of_one_counts_everything)
{
  mp_period p;
  int i;
  mp_period_init(&p, 1, 1);
  for (i = 0; i < 1000; i++) {
    ck_assert_int_eq(mp_period_next(&p, (uint64_t)i << 30), 1);
    ck_assert(mp_period_weight(&p, (size_t)i) == 1);
  }
}
END_TEST

/* Samples of a program that allocates n times 64 bytes. */
static int samples(uint64_t n, mp_period *p)
{
  uint64_t allocated = 0;
  int count = 0;
  mp_period_init(p, 0, 7);
  while (allocated < n * 64) {
    allocated += (uint64_t)mp_period_next(p, allocated);
    count++;
  }
  return count;
}

START_TEST(the_adaptive_period_bounds_the_samples)
{
  mp_period p;
  int n = samples(20000000 / 64, &p);  /* 20 MB */
  ck_assert_int_ge(n, 1000);
  ck_assert_int_le(n, 1600);
  n = samples(1000000000ull / 64, &p);  /* 1 GB */
  ck_assert_int_le(n, 8000);
  samples(20000000000ull / 64, &p);  /* 20 GB */
  ck_assert_double_le(p.mean, MP_PERIOD_MAX);
}
END_TEST

CHECK_MAIN("period", distances_are_exponential,
	   another_distribution_would_be_noticed, unbiased_for_every_size,
	   unbiased_for_mixed_sizes, unbiased_at_the_period_itself,
	   unbiased_while_the_period_adapts, wrong_samplers_are_rejected,
	   weight_times_probability_is_one, a_period_of_one_counts_everything,
	   the_adaptive_period_bounds_the_samples)
