/* SPDX-License-Identifier: MIT */
/*
** The cost of mp_live, in nanoseconds of CPU time: the best of five rounds.
** Part of make bench.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "data/live.h"

#define ROUNDS	5
#define OBJECT	48u		/* Bytes of an object. */
#define HEAP	UINT64_C(0x7f1234000000)
#define RING	(1u << 20)	/* Addresses drawn ahead; a power of two. */

static void *at(uint64_t n) { return (void *)(uintptr_t)(HEAP + OBJECT * n); }

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t rnd(void)
{
  static uint64_t x = 88172645463325252u;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (uint32_t)(x >> 32);
}

static uint32_t drawn[RING];	/* Numbers of objects. */
static volatile uint32_t sink;

static void draw(uint32_t n)
{
  uint32_t i;
  for (i = 0; i < RING; i++) drawn[i] = rnd() % n;
}

/* Objects of n that are freed and allocated again in random order. */
static double replace_at_random(mp_live *l)
{
  uint32_t i, found = 0;
  double t = now();
  for (i = 0; i < RING; i++) {
    found += mp_live_take(l, at(drawn[i])) != 0;
    mp_live_put(l, at(drawn[i]), i + 1);
  }
  sink = found;
  return (now() - t) / RING;
}

/* Short-lived objects: 8 of them, freed in the opposite order. */
static double churn(mp_live *l)
{
  uint32_t i, k, found = 0, base = 2000000;
  double t = now();
  for (i = 0; i < RING / 8; i++) {
    for (k = 0; k < 8; k++) mp_live_put(l, at(base + i + k), k + 1);
    while (k-- > 0) found += mp_live_take(l, at(base + i + k)) != 0;
  }
  sink = found;
  return (now() - t) / RING;
}

/* The only object of its page, over and over. */
static double alone(mp_live *l)
{
  uint32_t i, found = 0;
  double t = now();
  for (i = 0; i < RING; i++) {
    mp_live_put(l, at(9000000), i + 1);
    found += mp_live_take(l, at(9000000)) != 0;
  }
  sink = found;
  return (now() - t) / RING;
}

/* Frees of objects that were not sampled, scattered over the heap. */
static double miss(mp_live *l)
{
  uint32_t i, found = 0;
  double t = now();
  for (i = 0; i < RING; i++)
    found += mp_live_take(l, at(2 * drawn[i] + 1)) != 0;
  sink = found;
  return (now() - t) / RING;
}

static void show(const char *what, double (*f)(mp_live *), mp_live *l)
{
  double best = 1e9, ns;
  int i;
  for (i = 0; i < ROUNDS; i++)
    if ((ns = f(l)) < best) best = ns;
  printf("%-48s %6.2f ns\n", what, best);
}

static void bench_all(void)
{
  static mp_live l;
  uint32_t i, n = 1000000;
  double t;
  mp_live_init(&l, true);
  for (i = 0; i < n; i++) mp_live_put(&l, at(i), i + 1);
  draw(n);
  show("put + take, at random among a million", replace_at_random, &l);
  show("put + take, short-lived", churn, &l);
  show("put + take, alone in its page", alone, &l);
  mp_live_free(&l);
  n = 5000000;
  mp_live_init(&l, true);
  t = now();
  for (i = 0; i < n; i++) mp_live_put(&l, at(i), i + 1);
  printf("%-48s %6.2f ns\n", "put, five million in order", (now() - t) / n);
  printf("%-48s %6.1f bytes\n", "memory for each",
	 (double)mp_live_memory(&l) / n);
  t = now();
  for (i = 0; i < n; i++) mp_live_take(&l, at(i));
  printf("%-48s %6.2f ns\n", "take, five million in order", (now() - t) / n);
  mp_live_free(&l);
}

static void bench_sampled(uint32_t samples)
{
  static mp_live l;
  uint32_t i, n = 2000000;	/* Objects: 96 MB. */
  char what[64];
  mp_live_init(&l, false);
  for (i = 0; i < samples; i++) mp_live_put(&l, at(rnd() % n & ~1u), i + 1);
  draw(n / 2);
  sprintf(what, "take of one not sampled, %u samples alive", samples);
  show(what, miss, &l);
  printf("%-48s %6.1f KB\n", "memory", (double)mp_live_memory(&l) / 1024);
  mp_live_free(&l);
}

int main(void)
{
  static const uint32_t samples[] = { 0, 300, 1000, 3000, 10000, 50000 };
  size_t i;
  bench_all();
  for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
    bench_sampled(samples[i]);
  return 0;
}
