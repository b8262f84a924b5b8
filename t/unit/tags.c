/* SPDX-License-Identifier: MIT */
/* mp_tags: numbers behind blocks of memory. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "data/mem.h"
#include "data/tags.h"

#define N 4000

static unsigned char *heap;

static void set_up(void)
{
  heap = aligned_alloc(16, (size_t)N * 64);
  ck_assert_ptr_nonnull(heap);
  memset(heap, 0xa5, (size_t)N * 64);
}

static void *block(uint32_t i) { return heap + (size_t)i * 64; }

/* Of any alignment. */
static size_t size_of(uint32_t i) { return i % 57; }

START_TEST(a_tag_is_there_until_it_is_taken)
{
  mp_tags t;
  mp_tag tag;
  uint32_t i;
  set_up();
  mp_tags_init(&t);
  ck_assert_uint_eq(mp_tags_get(&t, block(0), 5).id, 0);
  ck_assert_uint_eq(mp_tags_take(&t, block(0), 5).id, 0);
  for (i = 0; i < N; i++)
    ck_assert(mp_tags_put(&t, block(i), size_of(i), (mp_tag){ i + 1, ~i }));
  ck_assert_uint_eq(t.count, N);
  ck_assert_uint_eq(mp_tags_get(&t, block(7), size_of(7)).id, 8);
  for (i = 0; i < N; i += 2) {
    tag = mp_tags_take(&t, block(i), size_of(i));
    ck_assert(tag.id == i + 1 && tag.stamp == ~i);
  }
  ck_assert_uint_eq(t.count, N / 2);
  for (i = 0; i < N; i++) {
    tag = mp_tags_get(&t, block(i), size_of(i));
    ck_assert(i % 2 ? tag.id == i + 1 && tag.stamp == ~i : tag.id == 0);
  }
  mp_tags_free(&t);
  ck_assert_uint_eq(mp_tags_get(&t, block(1), size_of(1)).id, 0);
  free(heap);
}
END_TEST

START_TEST(the_bytes_of_a_block_stay_as_they_are)
{
  mp_tags t;
  uint32_t i, k;
  set_up();
  mp_tags_init(&t);
  for (i = 0; i < N; i++)
    ck_assert(mp_tags_put(&t, block(i), size_of(i), (mp_tag){ 1, 0 }));
  for (i = 0; i < N; i++) {
    const unsigned char *p = block(i);
    for (k = 0; k < 64; k++)
      if (k < size_of(i) || k >= size_of(i) + MP_TAGS_EXTRA)
	ck_assert_uint_eq(p[k], 0xa5);
  }
  mp_tags_free(&t);
  free(heap);
}
END_TEST

START_TEST(a_new_tag_replaces_the_old_one)
{
  mp_tags t;
  set_up();
  mp_tags_init(&t);
  ck_assert(mp_tags_put(&t, block(3), 10, (mp_tag){ 4, 1 }));
  ck_assert(mp_tags_put(&t, block(3), 20, (mp_tag){ 5, 2 }));
  ck_assert_uint_eq(t.count, 1);
  ck_assert_uint_eq(mp_tags_take(&t, block(3), 20).id, 5);
  ck_assert_uint_eq(t.count, 0);
  mp_tags_free(&t);
  free(heap);
}
END_TEST

/* Blocks in different megabytes, more than the set has at hand: their leaves
** must not be taken for each other's. */
#define APART	(3 << 20)
#define BLOCKS	200

static char *far;

static void set_up_far(void)
{
  far = malloc((size_t)APART * BLOCKS + 64);
  ck_assert_ptr_nonnull(far);
}

static void *far_block(uint32_t i) { return far + (size_t)i * APART; }

START_TEST(blocks_far_apart)
{
  mp_tags t;
  uint32_t i;
  set_up_far();
  mp_tags_init(&t);
  for (i = 0; i < BLOCKS; i += 2)
    ck_assert(mp_tags_put(&t, far_block(i), 8, (mp_tag){ i + 1, 0 }));
  for (i = 0; i < BLOCKS; i++)
    ck_assert_uint_eq(mp_tags_take(&t, far_block(i), 8).id, i % 2 ? 0 : i + 1);
  ck_assert_uint_eq(t.count, 0);
  mp_tags_free(&t);
  free(far);
}
END_TEST

START_TEST(no_memory_loses_nothing)
{
  mp_tags t;
  uint32_t i, failures = 0;
  set_up_far();
  mp_tags_init(&t);
  for (i = 0; i < BLOCKS; i++) {
    mp_mem_left = 0;
    while (!mp_tags_put(&t, far_block(i), 1, (mp_tag){ i + 1, 0 })) {
      ck_assert_uint_eq(t.count, i);
      mp_mem_left = (int)(++failures % 4);
    }
  }
  mp_mem_left = -1;
  ck_assert_uint_ge(failures, BLOCKS);
  for (i = 0; i < BLOCKS; i++)
    ck_assert_uint_eq(mp_tags_take(&t, far_block(i), 1).id, i + 1);
  mp_tags_free(&t);
  ck_assert_uint_eq(mp_mem_bytes, 0);
  free(far);
}
END_TEST

CHECK_MAIN("tags", a_tag_is_there_until_it_is_taken,
	   the_bytes_of_a_block_stay_as_they_are,
	   a_new_tag_replaces_the_old_one, blocks_far_apart,
	   no_memory_loses_nothing)
