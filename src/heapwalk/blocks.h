/* SPDX-License-Identifier: MIT */
/*
** Blocks of C memory, found by addresses that point into them.
**
** A block is a sampled one (native/native.h), whose place is known, or one
** that the heads of glibc's malloc show: with another malloc only the sampled
** ones are found. Any number may be asked for: memory is read by vm/peek, and
** what is found is what most probably is there.
*/
#ifndef MP_BLOCKS_H
#define MP_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "native/native.h"

#define MP_BLOCKS_CACHE	1024	/* Answers that are remembered. */

typedef struct mp_cblock {
  uintptr_t not;		/* Its address inverted, as in data/sparse.h. */
  uint64_t size;		/* Bytes; 0: there is no block. */
  uint32_t sampled;		/* Its number, from 1; or 0. */
} mp_cblock;

typedef struct mp_blocks {
  const mp_native_block *list;	/* The sampled ones, ascending. */
  uint32_t n;
  mp_map regions;		/* Parts of the address space with blocks. */
  uintptr_t low, high;		/* The memory that sbrk gives. */
  uint32_t left;		/* Searches that may be made. */
  struct {
    uintptr_t not;		/* The word, inverted. */
    mp_cblock block;
  } cache[MP_BLOCKS_CACHE];
} mp_blocks;

/* Learns whether malloc is glibc's. Calls malloc; once, before a child asks. */
void mp_blocks_prove(void);

/* False: no memory; mp_blocks_free is to be called nevertheless. */
bool mp_blocks_init(mp_blocks *b, const mp_native_block *list, uint32_t n);
void mp_blocks_free(mp_blocks *b);

/* The block in which that address lies. */
mp_cblock mp_blocks_find(mp_blocks *b, uintptr_t word);

#endif
