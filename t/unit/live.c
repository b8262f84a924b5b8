/* SPDX-License-Identifier: MIT */
/* mp_live: address -> id of a sampled object, against a plain array. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "data/live.h"
#include "data/map.h"
#include "data/mem.h"

static void *at(uint64_t addr) { return (void *)(uintptr_t)addr; }

START_TEST(take_returns_what_was_put_once)
{
  mp_live l;
  ck_assert(mp_live_init(&l, false));
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 7), 0);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10010)), 0);
  ck_assert_uint_eq(mp_live_take(&l, at(0x20000)), 0);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10000)), 7);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10000)), 0);
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 8), 0);
  ck_assert_uint_eq(mp_live_put(&l, at(0x10008), 9), 0);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10000)), 8);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10008)), 9);
  ck_assert_uint_eq(mp_live_count(&l), 0);
  mp_live_free(&l);
}
END_TEST

START_TEST(a_second_put_tells_what_it_replaced)
{
  mp_live l;
  ck_assert(mp_live_init(&l, false));
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 7), 0);
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 8), 7);
  ck_assert_uint_eq(mp_live_count(&l), 1);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10000)), 8);
  mp_live_free(&l);
}
END_TEST

static void add_id(void *data, const void *addr, uint32_t id)
{
  uint64_t *sum = data;
  sum[0]++;
  sum[1] += (uint64_t)(uintptr_t)addr * id;
}

START_TEST(each_tells_of_all_objects)
{
  uint64_t sum[2], want;
  int dense;
  for (dense = 0; dense < 2; dense++) {
    mp_live l;
    uintptr_t a = (uintptr_t)UINT64_C(0x7f00f0001230), b = a + 16, c = 0x10000;
    ck_assert(mp_live_init(&l, dense));
    sum[0] = sum[1] = 0;
    mp_live_each(&l, add_id, sum);
    ck_assert_uint_eq(sum[0], 0);
    mp_live_put(&l, at(a), 3);
    mp_live_put(&l, at(b), 5);
    mp_live_put(&l, at(c), 7);
    mp_live_put(&l, at(c + 16), 9);
    mp_live_take(&l, at(c + 16));
    want = (uint64_t)a * 3 + (uint64_t)b * 5 + c * 7;
    mp_live_each(&l, add_id, sum);
    ck_assert_uint_eq(sum[0], 3);
    ck_assert_uint_eq(sum[1], want);
    mp_live_free(&l);
  }
}
END_TEST

/* Cells of a heap with holes: objects 32 bytes apart, in regions far from
** each other. */
static void *crowded(uint32_t cell)
{
  return at(0x7f0000000000 + (uint64_t)(cell >> 10) * 0x1230000 +
	    (cell & 1023) * 32);
}

/* Each alone on its page, so that pages come and go all the time. */
static void *alone(uint32_t cell)
{
  return at(0x7f0000000000 + (uint64_t)cell * 4096 + cell % 256 * 16);
}

/* Random puts and takes, compared with an array of what should be there.
** Counts what differs: an assertion each would take most of the time. */
static uint32_t compare(bool dense, void *(*where)(uint32_t), uint32_t ncells)
{
  static uint32_t model[1 << 16];
  mp_live l;
  uint64_t rnd = 1;
  uint32_t n = getenv("MP_TEST_SLOW") ? 100000 : 1000000;
  uint32_t i, live = 0, wrong = 0;
  memset(model, 0, sizeof(model));
  ck_assert(mp_live_init(&l, dense));
  for (i = 1; i <= n; i++) {
    uint32_t cell;
    rnd = mp_mix(rnd, i);
    cell = (uint32_t)(rnd >> 20) % ncells;
    if (rnd & 1) {
      wrong += mp_live_put(&l, where(cell), i) != model[cell];
      live += model[cell] == 0;
      model[cell] = i;
    } else {
      wrong += mp_live_take(&l, where(cell)) != model[cell];
      live -= model[cell] != 0;
      model[cell] = 0;
    }
    wrong += mp_live_count(&l) != live;
  }
  for (i = 0; i < ncells; i++)
    wrong += mp_live_take(&l, where(i)) != model[i];
  ck_assert_uint_eq(l.pages.npages, 0);
  mp_live_free(&l);
  return wrong;
}

START_TEST(agrees_with_an_array)
{
  ck_assert_uint_eq(compare(false, crowded, 1 << 16), 0);
  ck_assert_uint_eq(compare(true, crowded, 1 << 16), 0);
}
END_TEST

START_TEST(agrees_with_an_array_while_pages_go)
{
  ck_assert_uint_eq(compare(false, alone, 4096), 0);
  ck_assert_uint_eq(compare(true, alone, 4096), 0);
  ck_assert_uint_eq(compare(true, alone, 100), 0);  /* A table never full. */
}
END_TEST

/* Objects all over a heap of 64 MiB. */
static void *anywhere(uint32_t i)
{
  return at(16ull * (i * UINT64_C(2654435761) % (1u << 22)));
}

START_TEST(the_filter_knows_what_is_gone)
{
  mp_live l;
  uint32_t i, maybe = 0;
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= 1000; i++) mp_live_put(&l, anywhere(i), i);
  for (i = 1; i <= 1000; i++) ck_assert(mp_live_may(&l, anywhere(i)));
  for (i = 1001; i <= 11000; i++) maybe += mp_live_may(&l, anywhere(i));
  ck_assert_uint_lt(maybe, 500);  /* 1.5% are expected. */
  for (i = 1; i <= 1000; i++) mp_live_take(&l, anywhere(i));
  for (i = 1; i <= 1000; i++) ck_assert(!mp_live_may(&l, anywhere(i)));
  mp_live_free(&l);
}
END_TEST

/* More objects with one hash than its counter can count. */
START_TEST(a_full_filter_forgets_nobody)
{
  static void *same[300];
  mp_live l;
  uint32_t i = 0, n = 0;
  ck_assert(mp_live_init(&l, false));
  for (; n < 300; i++)
    if (mp_filter_hash(at(16ull * i)) == 7) same[n++] = at(16ull * i);
  for (i = 0; i < n; i++) mp_live_put(&l, same[i], i + 1);
  for (i = 0; i < n; i++) ck_assert_uint_eq(mp_live_take(&l, same[i]), i + 1);
  mp_live_free(&l);
}
END_TEST

/* In order, as a program fills its heap. */
START_TEST(memory_for_each_object_is_bounded)
{
  mp_live l;
  uint32_t i, wrong = 0, n = getenv("MP_TEST_SLOW") ? 200000 : 5000000;
  ck_assert(mp_live_init(&l, true));
  for (i = 1; i <= n; i++)
    wrong += mp_live_put(&l, at(0x7f0000000000 + 48ull * i), i) != 0;
  ck_assert_uint_eq(mp_live_count(&l), n);
  /* It grows by large pages of 2 MiB. */
  ck_assert_uint_le(mp_live_memory(&l), 16ull * n + (2u << 20));
  for (i = 1; i <= n; i++)
    wrong += mp_live_take(&l, at(0x7f0000000000 + 48ull * i)) != i;
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(l.pages.npages, 0);
  mp_live_free(&l);
}
END_TEST

/* A table of samples so many that nearly every object is one. */
START_TEST(many_samples_are_cheap_too)
{
  mp_live l;
  uint32_t i, n = 100000;
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= n; i++) mp_live_put(&l, at(0x7f0000000000 + 96ull * i), i);
  ck_assert_uint_le(mp_live_memory(&l), 64ull * n);
  mp_live_free(&l);
}
END_TEST

START_TEST(scattered_samples_are_cheap)
{
  mp_live l;
  uint32_t i;
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= 1000; i++) mp_live_put(&l, at(0x100000ull * i), i);
  ck_assert_uint_le(mp_live_memory(&l), 150000);
  mp_live_free(&l);
}
END_TEST

/* Memory is refused at every growth. */
static void lose_nothing(bool dense)
{
  mp_live l;
  uint32_t i, failures = 0;
  mp_mem_left = 0;
  ck_assert(!mp_live_init(&l, dense));
  mp_mem_left = -1;
  ck_assert(mp_live_init(&l, dense));
  for (i = 1; i <= 2000; i++) {
    mp_mem_left = 0;
    while (mp_live_put(&l, at(0x100000ull * i), i) == MP_LIVE_NOMEM)
      mp_mem_left = (int)(++failures % 4);
  }
  mp_mem_left = -1;
  ck_assert_uint_ge(failures, 5);
  for (i = 1; i <= 2000; i++)
    ck_assert_uint_eq(mp_live_take(&l, at(0x100000ull * i)), i);
  mp_live_free(&l);
}

START_TEST(no_memory_loses_nothing)
{
  lose_nothing(false);
  lose_nothing(true);
}
END_TEST

CHECK_MAIN("live", take_returns_what_was_put_once,
	   a_second_put_tells_what_it_replaced, each_tells_of_all_objects,
	   agrees_with_an_array,
	   agrees_with_an_array_while_pages_go, the_filter_knows_what_is_gone,
	   a_full_filter_forgets_nobody,
	   memory_for_each_object_is_bounded, many_samples_are_cheap_too,
	   scattered_samples_are_cheap,
	   no_memory_loses_nothing)
