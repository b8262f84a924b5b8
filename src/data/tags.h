/* SPDX-License-Identifier: MIT */
/*
** Tags: two numbers for each block of a heap, in the block itself.
**
** A tag lies behind the bytes that were asked for, where the processor's cache
** has it when the block is used. The allocator gets a size that has room for
** it. A set of addresses tells blocks that have a tag from others: one bit for
** every 16 bytes of the heap, on leaves of one megabyte of addresses each.
*/
#ifndef MP_TAGS_H
#define MP_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "data/map.h"

typedef struct mp_tag {
  uint32_t id;			/* Not 0. */
  uint32_t stamp;		/* Any number. */
} mp_tag;

/* Bytes that a block with a tag has more. */
#define MP_TAGS_EXTRA	sizeof(mp_tag)

#define MP_TAGS_LAST	128	/* A power of two. */
#define MP_TAGS_BITS	20	/* Of an address within its leaf. */

typedef struct mp_tagleaf {
  uint64_t number;		/* The address without these bits. */
  uint64_t words[(1 << MP_TAGS_BITS) / 16 / 64];
} mp_tagleaf;

typedef struct mp_tags {
  mp_tagleaf *last[MP_TAGS_LAST];  /* Leaves used last, by number; or NULL. */
  mp_map map;			/* Hash of a number -> index of the leaf. */
  mp_tagleaf **leaves;		/* [0] is unused. */
  uint32_t nleaves, cap;
  size_t count;			/* Tags. */
} mp_tags;

/* Makes an empty set out of zeros. */
void mp_tags_init(mp_tags *t);

/* The leaf with that number: made if there is none (NULL: no memory), or
** NULL. */
mp_tagleaf *mp_tags_make(mp_tags *t, uint64_t number);
mp_tagleaf *mp_tags_find(mp_tags *t, uint64_t number);

static inline uint64_t mp_tags_number(const void *block)
{
  return (uint64_t)(uintptr_t)block >> MP_TAGS_BITS;
}

static inline mp_tagleaf *mp_tags_last(const mp_tags *t, uint64_t number)
{
  mp_tagleaf *leaf = t->last[number & (MP_TAGS_LAST - 1)];
  return leaf != NULL && leaf->number == number ? leaf : NULL;
}

/* The word of the block in its leaf, and its bit there. */
static inline uint64_t *mp_tags_word(mp_tagleaf *leaf, const void *block)
{
  uintptr_t mask = ((uintptr_t)1 << MP_TAGS_BITS) - 1;
  return &leaf->words[((uintptr_t)block & mask) >> 10];
}

static inline uint64_t mp_tags_bit(const void *block)
{
  return UINT64_C(1) << ((uintptr_t)block >> 4 & 63);
}

/* Writes the tag of a block of that size, without the tag. False: no memory,
** and the block has no tag. */
static inline bool mp_tags_put(mp_tags *t, void *block, size_t size, mp_tag tag)
{
  uint64_t number = mp_tags_number(block), bit = mp_tags_bit(block), *word;
  mp_tagleaf *leaf = mp_tags_last(t, number);
  if (leaf == NULL && (leaf = mp_tags_make(t, number)) == NULL) return false;
  word = mp_tags_word(leaf, block);
  t->count += (*word & bit) == 0;
  *word |= bit;
  memcpy((char *)block + size, &tag, sizeof(tag));
  return true;
}

/* The tag of a block; its id is 0 if it has none. mp_tags_take forgets it. */
mp_tag mp_tags_get(const mp_tags *t, const void *block, size_t size);
static inline mp_tag mp_tags_take(mp_tags *t, const void *block, size_t size)
{
  uint64_t number = mp_tags_number(block), bit = mp_tags_bit(block), *word;
  mp_tagleaf *leaf = mp_tags_last(t, number);
  mp_tag tag = { 0, 0 };
  if (leaf == NULL && (leaf = mp_tags_find(t, number)) == NULL) return tag;
  word = mp_tags_word(leaf, block);
  if ((*word & bit) == 0) return tag;
  *word &= ~bit;
  t->count--;
  memcpy(&tag, (const char *)block + size, sizeof(tag));
  return tag;
}

/* Gives all memory back, and forgets all tags. */
void mp_tags_free(mp_tags *t);

#endif
