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

#define MP_BLOCKS_CACHE	8192	/* Answers that are remembered, */
#define MP_BLOCKS_PAGES	512	/* and pages. */
#define MP_BLOCKS_PAGE	4096

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
  uintptr_t back;		/* A head is at most so far before a word. */
  uint32_t left;		/* Searches that may be made. */
  struct {
    uintptr_t not;		/* The word, inverted. */
    mp_cblock block;
  } cache[MP_BLOCKS_CACHE];
  struct {
    uintptr_t at;
    bool readable;
    char bytes[MP_BLOCKS_PAGE];
  } pages[MP_BLOCKS_PAGES];
} mp_blocks;

/* Learns whether malloc is glibc's. Calls malloc; once, before a child asks. */
void mp_blocks_prove(void);

/* False: no memory; mp_blocks_free is to be called nevertheless. */
bool mp_blocks_init(mp_blocks *b, const mp_native_block *list, uint32_t n);
void mp_blocks_free(mp_blocks *b);

/* Whether the start of a block is looked for only a few bytes before an address
** from now on, or far; and how often at most. */
void mp_blocks_look(mp_blocks *b, bool far);

/* The block in which that address lies. */
mp_cblock mp_blocks_find(mp_blocks *b, uintptr_t word);

#endif
