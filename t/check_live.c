/* mp_live: address -> id of a sampled object, against a plain array. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "mp_live.h"
#include "mp_map.h"
#include "mp_mem.h"

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
  ck_assert_uint_eq(l.count, 0);
  ck_assert_uint_eq(l.npages, 0);
  mp_live_free(&l);
}
END_TEST

START_TEST(a_second_put_tells_what_it_replaced)
{
  mp_live l;
  ck_assert(mp_live_init(&l, false));
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 7), 0);
  ck_assert_uint_eq(mp_live_put(&l, at(0x10000), 8), 7);
  ck_assert_uint_eq(l.count, 1);
  ck_assert_uint_eq(mp_live_take(&l, at(0x10000)), 8);
  mp_live_free(&l);
}
END_TEST

/* A million random puts and takes over a heap with holes, compared with an
** array of what should be there. */
START_TEST(agrees_with_an_array)
{
  enum { CELLS = 1 << 16 };
  static uint32_t model[CELLS];
  mp_live l;
  uint64_t rnd = 1;
  uint32_t i, live = 0;
  memset(model, 0, sizeof(model));
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= 1000000; i++) {
    uint32_t cell;
    void *addr;
    rnd = mp_mix(rnd, i);
    cell = (uint32_t)(rnd >> 20) % CELLS;
    /* 32 bytes apart, in regions far from each other. */
    addr = at(0x7f0000000000 + (uint64_t)(cell >> 10) * 0x1230000 +
	      (cell & 1023) * 32);
    if (rnd & 1) {
      ck_assert_uint_eq(mp_live_put(&l, addr, i), model[cell]);
      live += model[cell] == 0;
      model[cell] = i;
    } else {
      ck_assert_uint_eq(mp_live_take(&l, addr), model[cell]);
      live -= model[cell] != 0;
      model[cell] = 0;
    }
  }
  ck_assert_uint_eq(l.count, live);
  mp_live_free(&l);
}
END_TEST

START_TEST(memory_for_each_object_is_bounded)
{
  mp_live l;
  uint32_t i, n = 5000000;
  ck_assert(mp_live_init(&l, true));
  for (i = 1; i <= n; i++)
    ck_assert_uint_eq(mp_live_put(&l, at(0x7f0000000000 + 48ull * i), i), 0);
  ck_assert_uint_eq(l.count, n);
  ck_assert_uint_le(mp_live_memory(&l), 16ull * n);
  for (i = 1; i <= n; i++)
    ck_assert_uint_eq(mp_live_take(&l, at(0x7f0000000000 + 48ull * i)), i);
  ck_assert_uint_eq(l.npages, 0);
  mp_live_free(&l);
}
END_TEST

START_TEST(scattered_samples_are_cheap)
{
  mp_live l;
  uint32_t i;
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= 1000; i++) mp_live_put(&l, at(0x100000ull * i), i);
  ck_assert_uint_le(mp_live_memory(&l), 1500000);
  mp_live_free(&l);
}
END_TEST

START_TEST(no_memory_loses_nothing)
{
  mp_live l;
  uint32_t i, failures = 0;
  mp_mem_left = 0;
  ck_assert(!mp_live_init(&l, false));
  mp_mem_left = 1;
  ck_assert(!mp_live_init(&l, false));
  mp_mem_left = -1;
  ck_assert(mp_live_init(&l, false));
  for (i = 1; i <= 2000; i++) {
    mp_mem_left = 0;
    while (mp_live_put(&l, at(0x100000ull * i), i) == MP_LIVE_NOMEM)
      mp_mem_left = (int)(++failures % 4);
  }
  mp_mem_left = -1;
  ck_assert_uint_gt(failures, 5);
  for (i = 1; i <= 2000; i++)
    ck_assert_uint_eq(mp_live_take(&l, at(0x100000ull * i)), i);
  mp_live_free(&l);
}
END_TEST

CHECK_MAIN("live", take_returns_what_was_put_once,
	   a_second_put_tells_what_it_replaced, agrees_with_an_array,
	   memory_for_each_object_is_bounded, scattered_samples_are_cheap,
	   no_memory_loses_nothing)
