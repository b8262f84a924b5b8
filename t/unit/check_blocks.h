/* SPDX-License-Identifier: MIT */
/*
** A lua_Alloc for tests, which knows every block that it has given out.
*/
#ifndef CHECK_BLOCKS_H
#define CHECK_BLOCKS_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA	((size_t)1 << 27)	/* Bytes; nothing is used twice. */
#define NOBODY	UINT32_MAX

typedef struct mp_block {
  char *p;
  size_t size;			/* 0: it was freed. */
  uint32_t owner;		/* The node that it belongs to, or NOBODY. */
  bool found;
} mp_block;

static char *arena;
static size_t used;
static mp_block *blocks;		/* By address. */
static uint32_t nblocks, capblocks;
static uint32_t owner = NOBODY;	/* Of blocks to come. */

static mp_block *find_block(const void *p)
{
  uint32_t low = 0, high = nblocks;
  while (high - low > 1) {
    uint32_t mid = low + (high - low) / 2;
    if ((const char *)p < blocks[mid].p) high = mid;
    else low = mid;
  }
  ck_assert_uint_lt((size_t)((const char *)p - blocks[low].p),
		    blocks[low].size);
  return &blocks[low];
}

static char *new_block(size_t size)
{
  char *p = arena + used;
  used += (size + 31) & ~(size_t)15;  /* No two blocks touch. */
  ck_assert_uint_lt(used, ARENA);
  if (nblocks == capblocks) {
    capblocks = capblocks * 2 + 1024;
    blocks = realloc(blocks, capblocks * sizeof(*blocks));
  }
  blocks[nblocks++] = (mp_block){ p, size, owner, false };
  return p;
}

static void *allocate(void *ud, void *p, size_t osize, size_t nsize)
{
  mp_block *b = p != NULL ? find_block(p) : NULL;
  char *to;
  (void)ud;
  if (b != NULL) ck_assert_uint_eq(b->size, osize);
  if (b != NULL && nsize <= osize) {
    b->size = nsize;
    return nsize > 0 ? p : NULL;
  }
  if (nsize == 0) return NULL;
  to = new_block(nsize);
  if (p == NULL) return to;
  memcpy(to, p, osize);
  find_block(p)->size = 0;
  return to;
}

/* Forgets all blocks. */
static void reset_blocks(void)
{
  if (arena == NULL) arena = malloc(ARENA);
  used = nblocks = 0;
}

#endif
