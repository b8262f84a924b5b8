/* SPDX-License-Identifier: MIT */
/* The interval of CPU samples that adapts. */
#include "config.h"

#include "check_main.h"

#include "data/pace.h"
#include "data/seed.h"

/* A run of so many milliseconds, in which ticks take so many seconds. Returns
** the weights of those that come in its last part, from `from` on. */
static double run(mp_pace *p, uint64_t seed, double ms, double took,
		  double from, mp_tally *all)
{
  double now = 0, late = 0;
  int interval = 1;
  mp_pace_init(p);
  *all = (mp_tally){ 0, 0, 0 };
  for (;;) {
    mp_tally n;
    now += (double)mp_seed_vary(&seed, (uint64_t)interval * 1000000) / 1e6;
    if (now >= ms) return late;
    n = mp_pace_count(p, 1, interval);
    mp_tally_add(all, n);
    if (now >= from) late += n.weight;
    mp_pace_tick(p, took);
    interval = mp_pace_interval(p);
  }
}

START_TEST(a_short_run_has_a_tick_in_each_millisecond)
{
  mp_pace p;
  mp_tally n;
  run(&p, 1, 68, 1e-6, 0, &n);
  ck_assert(n.ticks > 50 && n.ticks < 90);
  ck_assert(n.weight == n.ticks && n.squares == n.ticks);
  run(&p, 1, 90, 1e-3, 0, &n);
  ck_assert_msg(n.ticks > 65, "%d ticks", n.ticks);
}
END_TEST

START_TEST(a_long_run_has_fewer)
{
  mp_pace p;
  mp_tally n;
  run(&p, 1, 1000, 1e-6, 0, &n);
  ck_assert_msg(n.ticks > 900 && n.ticks < 1100, "%d ticks", n.ticks);
  run(&p, 1, 10e3, 1e-6, 0, &n);
  ck_assert_msg(n.ticks > 2500 && n.ticks < 3500, "%d ticks", n.ticks);
  ck_assert(n.squares > 3 * n.weight && n.squares < 8 * n.weight);
  run(&p, 1, 1e6, 1e-6, 0, &n);
  ck_assert_int_eq(mp_pace_interval(&p), MP_PACE_MAX);
  ck_assert(n.ticks < 1e5 + 4000);
}
END_TEST

/* Those that take long come less often. */
START_TEST(ticks_keep_within_their_budget)
{
  mp_pace p;
  mp_tally n;
  run(&p, 1, 1e4, 20e-6, 0, &n);
  ck_assert((n.ticks - MP_PACE_FIRST) * 20e-6 <= 10 * MP_PACE_BUDGET * 1.1);
  run(&p, 1, 1e4, 1, 0, &n);
  ck_assert_int_eq(mp_pace_interval(&p), MP_PACE_MAX);
}
END_TEST

/* A part of the run has its share, whenever it comes. */
START_TEST(weights_are_unbiased)
{
  static const double froms[] = { 40, 900, 2900 };
  size_t i;
  for (i = 0; i < 3; i++) {
    double late = 0, all = 0;
    int k;
    for (k = 1; k <= 400; k++) {
      mp_pace p;
      mp_tally n;
      late += run(&p, (uint64_t)k * 77777, 3000, k % 7 * 4e-6, froms[i], &n);
      all += n.weight;
    }
    ck_assert_msg(late / all > (1 - froms[i] / 3000) - 0.002 &&
		  late / all < (1 - froms[i] / 3000) + 0.002,
		  "from %g: %g", froms[i], late / all);
  }
}
END_TEST

CHECK_MAIN("pace", a_short_run_has_a_tick_in_each_millisecond,
	   a_long_run_has_fewer, ticks_keep_within_their_budget,
	   weights_are_unbiased)
