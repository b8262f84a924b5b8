/* SPDX-License-Identifier: MIT */
/*
** The history of what survived collections against programs whose survivors
** are known.
*/
#include "check_main.h"
#include "data/held.h"
#include "data/mem.h"

/* The collection of that number, a second and 1,000 bytes after the one
** before. */
static void flip(mp_held *h, uint32_t cycle, const mp_counts *c)
{
  const mp_held_record now = { cycle, 1000.0 * cycle, cycle };
  mp_held_flip(h, &now, c);
}

static uint32_t new_row(mp_counts *c, uint32_t stack)
{
  return mp_counts_row(c, stack, 0, 'I', 0);
}

START_TEST(a_record_has_what_the_sweep_left)
{
  mp_held h;
  mp_counts c;
  uint32_t kept, garbage;
  mp_held_init(&h);
  mp_counts_init(&c);
  kept = new_row(&c, 1);
  garbage = new_row(&c, 2);
  mp_counts_alloc(&c, kept, 1, 100);
  mp_counts_alloc(&c, kept, 4, 10);
  mp_counts_alloc(&c, garbage, 2, 30);
  flip(&h, 7, &c);
  mp_held_swept(&h, garbage, 2, 30);
  mp_counts_freed(&c, garbage, 2, 30);
  /* The program frees a block that was alive, and makes another one. */
  mp_counts_freed(&c, kept, 1, 100);
  mp_counts_alloc(&c, kept, 1, 200);
  ck_assert_uint_eq(h.nrecords, 0);
  flip(&h, 8, &c);
  ck_assert_uint_eq(h.nrecords, 1);
  ck_assert_double_eq(h.records[0].wall, 7);
  ck_assert_double_eq(h.records[0].allocated, 7000);
  ck_assert_uint_eq(h.records[0].cycle, 7);
  ck_assert_uint_eq(h.nentries, 1);
  ck_assert_uint_eq(h.entries[0].row, kept);
  ck_assert_double_eq(h.entries[0].objects, 5);
  ck_assert_double_eq(h.entries[0].bytes, 140);
  ck_assert_double_eq(h.entries[0].variance, 4 * 3 * 100);
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 2);
  ck_assert_double_eq(h.entries[1].bytes, 240);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

START_TEST(a_row_made_during_the_sweep_is_not_in_its_record)
{
  mp_held h;
  mp_counts c;
  uint32_t row;
  mp_held_init(&h);
  mp_counts_init(&c);
  flip(&h, 1, &c);
  row = new_row(&c, 1);
  mp_counts_alloc(&c, row, 1, 16);
  mp_held_swept(&h, row, 1, 16);
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 1);
  ck_assert_uint_eq(h.nentries, 0);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

START_TEST(a_dropped_record_is_not_kept)
{
  mp_held h;
  mp_counts c;
  mp_held_init(&h);
  mp_counts_init(&c);
  mp_counts_alloc(&c, new_row(&c, 1), 1, 16);
  flip(&h, 1, &c);
  mp_held_drop(&h);
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 0);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

/* However many there are, records come from all parts of the run, the last one
** is among them, and each has all of its entries. */
START_TEST(a_long_run_keeps_records_of_all_its_parts)
{
  enum { ROWS = 3, SECONDS = 5000 };
  mp_held h;
  mp_counts c;
  uint32_t i, r, wall;
  mp_held_init(&h);
  mp_counts_init(&c);
  for (r = 1; r <= ROWS; r++) new_row(&c, r);
  for (wall = 1; wall <= SECONDS; wall++) {
    for (r = 1; r <= ROWS; r++) mp_counts_alloc(&c, r, r, 8);
    flip(&h, wall, &c);
    ck_assert_uint_le(h.nrecords, MP_HELD_RECORDS);
    ck_assert_uint_eq(h.nentries, h.nrecords * ROWS);
  }
  ck_assert_uint_ge(h.nrecords, MP_HELD_RECORDS / 2 - 1);
  for (i = 0; i < h.nentries; i++) {
    const mp_held_entry *e = &h.entries[i];
    ck_assert_uint_eq(e->record, i / ROWS);
    ck_assert_uint_eq(e->row, i % ROWS + 1);
    ck_assert_double_eq(e->bytes, 8.0 * e->row * h.records[e->record].wall);
  }
  for (i = 0; i < h.nrecords && h.records[i].wall <= SECONDS / 2; i++) ;
  ck_assert_uint_ge(i, h.nrecords / 4);
  ck_assert_uint_le(i, h.nrecords - h.nrecords / 4);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

START_TEST(many_rows_leave_fewer_records)
{
  mp_held h;
  mp_counts c;
  uint32_t rows = MP_HELD_ENTRIES / 16, i;
  mp_held_init(&h);
  mp_counts_init(&c);
  for (i = 1; i <= rows; i++) mp_counts_alloc(&c, new_row(&c, i), 1, 8);
  for (i = 1; i <= 200; i++) {
    flip(&h, i, &c);
    ck_assert_uint_le(h.nentries, MP_HELD_ENTRIES);
  }
  ck_assert_uint_ge(h.nrecords, MP_HELD_MIN - 1);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

/* Without memory a record is missing, and nothing else. */
START_TEST(no_memory)
{
  mp_held h;
  mp_counts c;
  uint32_t i;
  mp_held_init(&h);
  mp_counts_init(&c);
  for (i = 1; i <= 1000; i++) mp_counts_alloc(&c, new_row(&c, i), 1, 8);
  mp_mem_left = 0;  /* The next allocation fails. */
  flip(&h, 1, &c);
  mp_held_swept(&h, 1, 1, 8);
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 0);
  flip(&h, 2, &c);
  mp_mem_left = 0;
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 0);
  flip(&h, 4, &c);
  mp_held_end(&h);
  ck_assert_uint_eq(h.nrecords, 1);
  ck_assert_uint_eq(h.nentries, 1000);
  mp_held_free(&h);
  mp_counts_free(&c);
}
END_TEST

CHECK_MAIN("held",
  a_record_has_what_the_sweep_left,
  a_row_made_during_the_sweep_is_not_in_its_record,
  a_dropped_record_is_not_kept,
  a_long_run_keeps_records_of_all_its_parts,
  many_rows_leave_fewer_records,
  no_memory)
