/* SPDX-License-Identifier: MIT */
/* mp_events: reallocations and frees by where and from where. */
#include "config.h"

#include "check_main.h"
#include "data/events.h"
#include "data/mem.h"

START_TEST(equal_events_are_counted_together)
{
  mp_events e;
  mp_events_init(&e);
  ck_assert(mp_events_add(&e, MP_FREE, 1, 2, 0, 10));
  ck_assert(mp_events_add(&e, MP_REALLOC, 1, 2, 40, 20));
  ck_assert(mp_events_add(&e, MP_FREE, 1, 0, 0, 7));
  ck_assert(mp_events_add(&e, MP_FREE, 1, 2, 0, 5));
  ck_assert_uint_eq(e.count, 3);
  ck_assert(e.list[0].count == 2 && e.list[0].free_bytes == 15 &&
	    e.list[0].kind == MP_FREE && e.list[0].at == 1 &&
	    e.list[0].origin == 2);
  ck_assert(e.list[1].count == 1 && e.list[1].alloc_bytes == 40 &&
	    e.list[1].free_bytes == 20 && e.list[1].kind == MP_REALLOC);
  ck_assert(e.list[2].origin == 0 && e.list[2].free_bytes == 7);
  mp_events_free(&e);
}
END_TEST

START_TEST(many_events_keep_their_counts)
{
  mp_events e;
  uint32_t i, round;
  mp_events_init(&e);
  for (round = 0; round < 3; round++)
    for (i = 0; i < 10000; i++)
      ck_assert(mp_events_add(&e, MP_FREE, i / 100, i % 100, 0, i));
  ck_assert_uint_eq(e.count, 10000);
  for (i = 0; i < 10000; i++)
    ck_assert(e.list[i].count == 3 && e.list[i].free_bytes == 3 * i &&
	      e.list[i].at == i / 100 && e.list[i].origin == i % 100);
  mp_events_free(&e);
}
END_TEST

START_TEST(a_moved_event_counts_there)
{
  mp_events e;
  mp_events_init(&e);
  ck_assert(mp_events_add(&e, MP_REALLOC, 1, 2, 40, 20));
  ck_assert(mp_events_add(&e, MP_REALLOC, 1, 2, 80, 40));
  ck_assert(mp_events_move(&e, 1, 5, 2, 40, 20));
  ck_assert_uint_eq(e.count, 2);
  ck_assert(e.list[0].at == 1 && e.list[0].count == 1 &&
	    e.list[0].alloc_bytes == 80 && e.list[0].free_bytes == 40);
  ck_assert(e.list[1].at == 5 && e.list[1].count == 1 &&
	    e.list[1].alloc_bytes == 40 && e.list[1].free_bytes == 20 &&
	    e.list[1].origin == 2);
  mp_events_free(&e);
}
END_TEST

START_TEST(places_that_become_known)
{
  mp_events e;
  mp_events_init(&e);
  ck_assert(mp_events_add(&e, MP_REALLOC, 0, 2, 40, 20));
  ck_assert(mp_events_add(&e, MP_REALLOC, 0, 2, 80, 40));
  ck_assert(mp_events_add(&e, MP_FREE, 0, 2, 0, 7));
  ck_assert(mp_events_add(&e, MP_REALLOC, 5, 3, 9, 8));
  ck_assert(mp_events_settle(&e, 5));
  ck_assert(mp_events_add(&e, MP_REALLOC, 0, 2, 1, 1));
  ck_assert(mp_events_settle(&e, 6));
  ck_assert_uint_eq(e.count, 5);
  ck_assert(e.list[0].at == 0 && e.list[0].count == 0);
  ck_assert(e.list[1].kind == MP_FREE && e.list[1].count == 1);
  ck_assert(e.list[2].origin == 3 && e.list[2].count == 1);
  ck_assert(e.list[3].at == 5 && e.list[3].count == 2 &&
	    e.list[3].alloc_bytes == 120 && e.list[3].free_bytes == 60);
  ck_assert(e.list[4].at == 6 && e.list[4].count == 1);
  mp_events_free(&e);
}
END_TEST

START_TEST(no_memory_is_told)
{
  mp_events e;
  uint32_t i, failures = 0;
  mp_events_init(&e);
  for (i = 0; i < 300; i++) {
    mp_mem_left = (int)(i % 3);
    while (!mp_events_add(&e, MP_FREE, i, i % 60, 0, 1))
      mp_mem_left = (int)(++failures % 4);
  }
  mp_mem_left = -1;
  ck_assert_uint_gt(failures, 3);
  ck_assert_uint_eq(e.count, 300);
  for (i = 0; i < 300; i++)
    ck_assert(e.list[i].at == i && e.list[i].count == 1);
  mp_events_free(&e);
}
END_TEST

/* Adds different events until one is refused. Returns their number. */
static uint32_t fill(mp_events *e)
{
  uint32_t i = 0;
  while (i < 1000000 && mp_events_add(e, MP_FREE, i, 1, 0, 1)) i++;
  return i;
}

START_TEST(the_limit_holds_again_once_all_were_forgotten)
{
  mp_events e;
  uint32_t n;
  mp_events_init(&e);
  e.limit = 1 << 20;
  n = fill(&e);
  ck_assert_uint_gt(n, 1000);
  ck_assert_uint_lt(n, 100000);
  ck_assert(mp_events_add(&e, MP_FREE, 0, 1, 0, 1));  /* It is known. */
  mp_events_free(&e);
  ck_assert_uint_eq(fill(&e), n);
  mp_events_free(&e);
}
END_TEST

CHECK_MAIN("events", equal_events_are_counted_together,
	   many_events_keep_their_counts, a_moved_event_counts_there,
	   places_that_become_known,
	   no_memory_is_told, the_limit_holds_again_once_all_were_forgotten)
