/* SPDX-License-Identifier: MIT */
/* mp_map: a hash map from 64-bit keys to 32-bit values. */
#include "config.h"

#include <pthread.h>

#include "check_main.h"
#include "data/map.h"
#include "data/mem.h"

#define N 20000

static uint64_t key(uint32_t i) { return mp_mix(42, i); }

START_TEST(empty_map_has_nothing)
{
  mp_map m = MP_MAP_EMPTY;
  ck_assert_uint_eq(mp_map_get(&m, 1), 0);
  mp_map_clear(&m);
  mp_map_free(&m);
}
END_TEST

START_TEST(what_was_put_is_found)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i;
  for (i = 1; i <= N; i++) ck_assert(mp_map_put(&m, key(i), i));
  for (i = 1; i <= N; i++) ck_assert_uint_eq(mp_map_get(&m, key(i)), i);
  ck_assert_uint_eq(mp_map_get(&m, key(N + 1)), 0);
  ck_assert_uint_eq(m.count, N);
  mp_map_free(&m);
}
END_TEST

START_TEST(keys_that_share_a_slot)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i;
  for (i = 1; i <= 40; i++)
    ck_assert(mp_map_put(&m, (uint64_t)i << 32, i));
  for (i = 1; i <= 40; i++)
    ck_assert_uint_eq(mp_map_get(&m, (uint64_t)i << 32), i);
  mp_map_free(&m);
}
END_TEST

START_TEST(put_replaces)
{
  mp_map m = MP_MAP_EMPTY;
  ck_assert(mp_map_put(&m, 7, 1));
  ck_assert(mp_map_put(&m, 7, 2));
  ck_assert_uint_eq(mp_map_get(&m, 7), 2);
  ck_assert_uint_eq(m.count, 1);
  mp_map_clear(&m);
  ck_assert_uint_eq(mp_map_get(&m, 7), 0);
  ck_assert_uint_eq(m.count, 0);
  mp_map_free(&m);
}
END_TEST

START_TEST(every_key_is_allowed)
{
  mp_map m = MP_MAP_EMPTY;
  ck_assert_uint_eq(mp_map_get(&m, 0), 0);
  ck_assert(mp_map_put(&m, 0, 1));
  ck_assert(mp_map_put(&m, UINT64_MAX, 2));
  ck_assert_uint_eq(mp_map_get(&m, 0), 1);
  ck_assert_uint_eq(mp_map_get(&m, UINT64_MAX), 2);
  mp_map_free(&m);
}
END_TEST

START_TEST(cleared_and_freed_maps_are_usable)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i, round;
  for (round = 0; round < 4; round++) {
    for (i = 1; i <= 1000; i++)
      ck_assert(mp_map_put(&m, key(i + 500 * round), i));
    ck_assert_uint_eq(m.count, 1000);
    for (i = 1; i <= 1000; i++)
      ck_assert_uint_eq(mp_map_get(&m, key(i + 500 * round)), i);
    if (round & 1) mp_map_free(&m);
    else mp_map_clear(&m);
    ck_assert_uint_eq(mp_map_get(&m, key(1 + 500 * round)), 0);
  }
}
END_TEST

START_TEST(a_reserved_put_succeeds)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i;
  for (i = 1; i <= 1000; i++) {
    ck_assert(mp_map_reserve(&m));
    mp_mem_left = 0;
    ck_assert(mp_map_put(&m, key(i), i));
    ck_assert_uint_eq(m.count, i);
    mp_mem_left = -1;
  }
  mp_map_free(&m);
}
END_TEST

/* However full it is: what is there can be replaced. */
START_TEST(a_replacement_takes_no_memory)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i;
  for (i = 1; i <= 200; i++) {
    ck_assert(mp_map_put(&m, key(i), i));
    mp_mem_left = 0;
    ck_assert(mp_map_put(&m, key(1), i));
    mp_mem_left = -1;
  }
  ck_assert_uint_eq(mp_map_get(&m, key(1)), 200);
  ck_assert_uint_eq(m.count, 200);
  mp_map_free(&m);
}
END_TEST

START_TEST(no_memory_changes_nothing)
{
  mp_map m = MP_MAP_EMPTY;
  uint32_t i, failures = 0;
  for (i = 1; i <= 1000; i++) {
    uint32_t j;
    mp_mem_left = (int)(i % 2);
    if (!mp_map_put(&m, key(i), i)) {
      failures++;
      for (j = 1; j < i; j++) ck_assert_uint_eq(mp_map_get(&m, key(j)), j);
      ck_assert_uint_eq(mp_map_get(&m, key(i)), 0);
      mp_mem_left = -1;
      ck_assert(mp_map_put(&m, key(i), i));
    }
  }
  mp_mem_left = -1;
  ck_assert_uint_gt(failures, 3);
  mp_map_free(&m);
}
END_TEST

static void *put_many(void *m)
{
  uint32_t i;
  for (i = 1; i <= N; i++)
    if (!mp_map_put(m, key(i), i)) return NULL;
  return m;
}

/* A signal's handler gets none, and other threads do. */
START_TEST(denied_memory_is_one_threads)
{
  mp_map here = MP_MAP_EMPTY, there = MP_MAP_EMPTY;
  pthread_t thread;
  void *done;
  mp_mem_deny();
  ck_assert(mp_mem_denied());
  ck_assert_ptr_null(put_many(&here));
  ck_assert_int_eq(pthread_create(&thread, NULL, put_many, &there), 0);
  pthread_join(thread, &done);
  mp_mem_allow();
  ck_assert_ptr_eq(done, &there);
  ck_assert(!mp_mem_denied());
  ck_assert_ptr_eq(put_many(&here), &here);
  mp_map_free(&here);
  mp_map_free(&there);
}
END_TEST

CHECK_MAIN("map", empty_map_has_nothing, what_was_put_is_found,
	   keys_that_share_a_slot, put_replaces, every_key_is_allowed,
	   cleared_and_freed_maps_are_usable, a_reserved_put_succeeds,
	   a_replacement_takes_no_memory, no_memory_changes_nothing,
	   denied_memory_is_one_threads)
