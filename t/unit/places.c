/* SPDX-License-Identifier: MIT */
/* mp_places: numbers for addresses. */
#include "config.h"

#include "check_main.h"
#include "data/map.h"
#include "data/mem.h"
#include "data/places.h"

#define N 20000

static uint64_t addresses[N];

static const void *at(uint64_t a) { return (const void *)(uintptr_t)a; }

static int ascending(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Different multiples of 8, close together or `spread` far apart. */
static void make(uint64_t spread)
{
  uint64_t a = UINT64_C(0x7f0000001008), r = 42;
  int i;
  for (i = 0; i < N; i++) {
    r = mp_mix(r, (uint64_t)i);
    a += 8 + (r % spread & ~UINT64_C(7));
    addresses[i] = a;
  }
  for (i = N - 1; i > 0; i--) {  /* In no order. */
    int j = (int)(mp_mix(r, (uint64_t)i) % (uint64_t)i);
    a = addresses[i]; addresses[i] = addresses[j]; addresses[j] = a;
  }
}

static void note(void *ud, uint32_t number, const void *addr)
{
  uint32_t *n = ud;
  ck_assert_uint_eq(number, ++*n);
  ck_assert_ptr_eq(addr, at(addresses[number - 1]));
}

static void check(uint64_t spread)
{
  mp_places p = MP_PLACES_EMPTY;
  uint32_t i, n = 0;
  make(spread);
  for (i = 0; i < N; i++) ck_assert(mp_places_add(&p, at(addresses[i])));
  for (i = 0; i < N; i += 7) ck_assert(mp_places_add(&p, at(addresses[i])));
  ck_assert(mp_places_close(&p));
  ck_assert_uint_eq(p.count, N);
  qsort(addresses, N, sizeof(addresses[0]), ascending);
  for (i = 0; i < N; i++) {
    ck_assert_uint_eq(mp_places_find(&p, at(addresses[i])), i + 1);
    ck_assert_ptr_eq(mp_places_address(&p, i + 1), at(addresses[i]));
    ck_assert_uint_eq(mp_places_find(&p, at(addresses[i] + 4)), 0);
    if (i + 1 < N && addresses[i + 1] != addresses[i] + 8)
      ck_assert_uint_eq(mp_places_find(&p, at(addresses[i] + 8)), 0);
  }
  mp_places_each(&p, note, &n);
  ck_assert_uint_eq(n, N);
  mp_places_free(&p);
}

START_TEST(numbers_ascend_with_addresses)
{
  check(8);
  check(64);
  check(100000);
}
END_TEST

START_TEST(empty_set_has_nothing)
{
  mp_places p = MP_PLACES_EMPTY;
  uint32_t n = 0;
  ck_assert(mp_places_close(&p));
  ck_assert_uint_eq(p.count, 0);
  ck_assert_uint_eq(mp_places_find(&p, at(4096)), 0);
  mp_places_each(&p, note, &n);
  ck_assert_uint_eq(n, 0);
  mp_places_free(&p);
}
END_TEST

START_TEST(no_memory_is_said)
{
  int left;
  bool ok = false;
  make(1000);
  for (left = 0; !ok; left++) {
    mp_places p = MP_PLACES_EMPTY;
    uint32_t i;
    mp_mem_left = left;
    for (i = 0, ok = true; ok && i < N; i++)
      ok = mp_places_add(&p, at(addresses[i]));
    mp_mem_left = -1;
    mp_places_free(&p);
  }
  ck_assert_int_gt(left, 5);
}
END_TEST

CHECK_MAIN("places", numbers_ascend_with_addresses, empty_set_has_nothing,
	   no_memory_is_said)
