/* SPDX-License-Identifier: MIT */
/* mp_counts: one row for each stack, VM state, zone and type. */
#include "config.h"

#include "check_main.h"
#include "data/counts.h"
#include "data/mem.h"

START_TEST(a_row_for_each_key)
{
  mp_counts c;
  mp_counts_init(&c);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'N', 0), 1);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'I', 0), 2);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 1, 'N', 0), 3);
  ck_assert_uint_eq(mp_counts_row(&c, 2, 0, 'N', 0), 4);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'N', 0), 1);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'N', 2), 5);
  ck_assert_uint_eq(c.nrows, 5);
  ck_assert(c.rows[5].type == 2 && c.rows[1].type == 0);
  ck_assert(c.rows[3].zone == 1 && c.rows[2].state == 'I');
  ck_assert(c.rows[4].alloc_bytes == 0 && c.rows[4].cpu == 0);
  mp_counts_free(&c);
}
END_TEST

START_TEST(many_rows_keep_their_counts)
{
  mp_counts c;
  uint32_t i;
  mp_counts_init(&c);
  for (i = 1; i <= 5000; i++) {
    uint32_t id = mp_counts_row(&c, i, 0, 'N', 0);  /* Moves the rows. */
    c.rows[id].cpu = i;
  }
  for (i = 1; i <= 5000; i++) {
    uint32_t id = mp_counts_row(&c, i, 0, 'N', 0);
    ck_assert(c.rows[id].cpu == i);
  }
  mp_counts_free(&c);
}
END_TEST

/* Makes a hash collide: see stacks.c. */
START_TEST(rows_that_collide_differ)
{
  mp_counts c, other;
  uint32_t i;
  mp_counts_init(&c);
  mp_counts_init(&other);
  ck_assert_uint_eq(mp_counts_row(&other, 2, 3, 'G', 0), 1);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'N', 0), 1);
  for (i = 0; other.map.vals[i] == 0; i++);
  ck_assert(mp_map_put(&c.map, other.map.keys[i], 1));
  ck_assert_uint_eq(mp_counts_row(&c, 2, 3, 'G', 0), 2);
  ck_assert_uint_eq(mp_counts_row(&c, 2, 3, 'G', 0), 2);
  ck_assert_uint_eq(mp_counts_row(&c, 1, 0, 'N', 0), 1);
  mp_counts_free(&other);
  mp_counts_free(&c);
}
END_TEST

/* The peak of each row against copies of all of them at each peak. */
START_TEST(peaks_are_those_of_the_highest_moment)
{
  enum { ROWS = 20, STEPS = 20000 };
  mp_counts c;
  double inuse[ROWS + 1] = { 0 }, peak[ROWS + 1] = { 0 };
  double total = 0, highest = 0;
  uint32_t i, step, seed = 1;
  mp_counts_init(&c);
  for (step = 0; step < STEPS; step++) {
    uint32_t row, size;
    seed = seed * 1103515245u + 12345;
    size = (seed >> 8) % 1000 + 1;
    row = mp_counts_row(&c, (seed >> 20) % ROWS + 1, 0, 'N', 0);
    if ((seed & 0x10000) && inuse[row] >= size) {
      if (total > highest) {  /* Seen, as in the profiler, before a free. */
	highest = total;
	for (i = 1; i <= ROWS; i++) peak[i] = inuse[i];
	mp_counts_peak(&c);
      }
      mp_counts_freed(&c, row, 1, size);
      inuse[row] -= size;
      total -= size;
    } else {
      mp_counts_alloc(&c, row, 1, size);
      inuse[row] += size;
      total += size;
    }
  }
  ck_assert(highest > 0);
  for (i = 1; i <= c.nrows; i++) {
    ck_assert(mp_counts_peak_bytes(&c, i) == peak[i]);
    ck_assert(c.rows[i].inuse_bytes == inuse[i]);
  }
  mp_counts_free(&c);
}
END_TEST

START_TEST(moved_counts_are_those_of_the_other_row)
{
  mp_counts c;
  uint32_t from, to;
  mp_counts_init(&c);
  from = mp_counts_row(&c, 1, 0, 'N', 0);
  to = mp_counts_row(&c, 1, 0, 'N', 1);
  mp_counts_alloc(&c, from, 2, 100);
  mp_counts_alloc(&c, from, 3, 10);
  mp_counts_move(&c, from, to, 2, 100, c.epoch);
  ck_assert(c.rows[from].alloc_objects == 3 && c.rows[from].alloc_bytes == 30);
  ck_assert(c.rows[from].inuse_objects == 3 && c.rows[from].inuse_bytes == 30);
  ck_assert(c.rows[to].alloc_objects == 2 && c.rows[to].alloc_bytes == 200);
  ck_assert(c.rows[to].inuse_objects == 2 && c.rows[to].inuse_bytes == 200);
  mp_counts_free(&c);
}
END_TEST

/* An object that was there at the last peak takes its share of it along. */
START_TEST(a_moved_object_is_in_the_peak_of_one_row)
{
  mp_counts c;
  uint32_t from, to, born;
  mp_counts_init(&c);
  from = mp_counts_row(&c, 1, 0, 'N', 0);
  to = mp_counts_row(&c, 1, 0, 'N', 1);
  mp_counts_alloc(&c, from, 1, 10);
  born = c.epoch;
  mp_counts_alloc(&c, from, 1, 100);
  mp_counts_peak(&c);
  mp_counts_move(&c, from, to, 1, 100, born);
  ck_assert(mp_counts_peak_bytes(&c, from) == 10);
  ck_assert(mp_counts_peak_objects(&c, from) == 1);
  ck_assert(mp_counts_peak_bytes(&c, to) == 100);
  ck_assert(mp_counts_peak_objects(&c, to) == 1);
  mp_counts_alloc(&c, from, 1, 1000);
  mp_counts_move(&c, from, to, 1, 1000, c.epoch);
  ck_assert(mp_counts_peak_bytes(&c, from) == 10);
  ck_assert(mp_counts_peak_bytes(&c, to) == 100);
  ck_assert(c.rows[to].inuse_bytes == 1100);
  mp_counts_free(&c);
}
END_TEST

START_TEST(restart_keeps_what_is_in_use)
{
  mp_counts c;
  uint32_t id;
  mp_row *r;
  mp_counts_init(&c);
  id = mp_counts_row(&c, 1, 0, 'N', 0);
  r = &c.rows[id];
  r->cpu = 3;
  r->alloc_objects = 5;
  r->alloc_bytes = 500;
  r->inuse_objects = 2;
  r->inuse_bytes = 200;
  mp_counts_restart(&c);
  ck_assert(r->cpu == 0 && r->alloc_objects == 0 && r->alloc_bytes == 0);
  ck_assert(r->inuse_objects == 2 && r->inuse_bytes == 200);
  mp_counts_free(&c);
}
END_TEST

START_TEST(no_memory_is_row_zero)
{
  mp_counts c;
  uint32_t i, failures = 0;
  mp_counts_init(&c);
  for (i = 1; i <= 300; i++) {
    uint32_t id;
    mp_mem_left = 0;
    while ((id = mp_counts_row(&c, i, 0, 'N', 0)) == 0)
      mp_mem_left = (int)(++failures % 4);
    ck_assert_uint_eq(id, i);
  }
  mp_mem_left = -1;
  ck_assert_uint_gt(failures, 5);
  ck_assert_uint_eq(c.nrows, 300);
  mp_counts_free(&c);
}
END_TEST

CHECK_MAIN("counts", a_row_for_each_key, many_rows_keep_their_counts,
	   rows_that_collide_differ, peaks_are_those_of_the_highest_moment,
	   moved_counts_are_those_of_the_other_row,
	   a_moved_object_is_in_the_peak_of_one_row,
	   restart_keeps_what_is_in_use, no_memory_is_row_zero)
