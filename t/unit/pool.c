/* SPDX-License-Identifier: MIT */
/* mp_pool: memory without malloc. Each test has a process of its own. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "check_main.h"
#include "data/mem.h"

#define MB	((size_t)1 << 20)

static void fill(char *p, size_t n, int with)
{
  ck_assert_ptr_nonnull(p);
  ck_assert_uint_eq((uintptr_t)p & 15, 0);
  memset(p, with, n);
}

static bool has(const char *p, size_t n, int what)
{
  size_t i;
  for (i = 0; i < n; i++) if (p[i] != what) return false;
  return true;
}

START_TEST(blocks_grow_and_keep_their_contents)
{
  char *small, *other, *large;
  mp_pool_begin(64 * MB);
  fill(small = mp_malloc(10), 10, 1);
  fill(other = mp_malloc(1000), 1000, 2);
  fill(small = mp_realloc(small, 5000), 10, 1);
  ck_assert(has(other, 1000, 2));
  fill(large = mp_realloc(NULL, 100000), 100000, 3);
  large = mp_realloc(large, 5 * MB);
  ck_assert(has(large, 100000, 3));
  small = mp_realloc(small, 200000);
  ck_assert(has(small, 10, 1));
  mp_free(large);
  mp_free(small);
  mp_free(NULL);
  ck_assert(has(other, 1000, 2));
}
END_TEST

START_TEST(blocks_are_zeros_where_that_is_asked_for)
{
  char *p;
  mp_pool_begin(64 * MB);
  fill(p = mp_malloc(100), 100, 1);
  mp_free(p);
  p = mp_calloc(10, 10);
  ck_assert(has(p, 100, 0));
  ck_assert(has(mp_calloc(1, 2 * MB), 2 * MB, 0));
}
END_TEST

START_TEST(there_is_a_limit_and_large_blocks_come_back)
{
  char *p, *q;
  int i;
  mp_pool_begin(16 * MB);
  for (i = 0; i < 100; i++) {
    fill(p = mp_malloc(10 * MB), 10 * MB, i);
    ck_assert_ptr_null(mp_malloc(10 * MB));
    mp_free(p);
  }
  fill(p = mp_malloc(10 * MB), 100, 7);
  ck_assert_ptr_null(mp_realloc(p, 20 * MB));
  ck_assert(has(p, 100, 7));
  ck_assert_ptr_null(mp_pool_alloc(SIZE_MAX));
  while ((q = mp_malloc(1000)) != NULL) fill(q, 1000, 8);
  ck_assert(has(p, 100, 7));
}
END_TEST

START_TEST(strings_are_copied)
{
  mp_pool_begin(MB);
  ck_assert_str_eq(mp_mem_string("abc"), "abc");
}
END_TEST

CHECK_MAIN("pool", blocks_grow_and_keep_their_contents,
	   blocks_are_zeros_where_that_is_asked_for,
	   there_is_a_limit_and_large_blocks_come_back, strings_are_copied)
