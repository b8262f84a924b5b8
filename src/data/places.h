/* SPDX-License-Identifier: MIT */
/*
** Addresses of objects, numbered from 1 in ascending order.
**
** A heap has millions of objects, and each reference among them is turned into
** a number: so a block of the address space is a bitmap with counts, which a
** lookup reaches through one small hash table of blocks. A word of the bitmap
** and its count lie side by side: a lookup far away costs one cache miss. An
** object takes two to four bytes.
**
** All addresses are added first; then the set is closed; lookups come last.
** Memory comes from malloc. One thread at a time.
*/
#ifndef MP_PLACES_H
#define MP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define MP_PLACES_BITS	17	/* Of an address within its block, */
#define MP_PLACES_WORD	9	/* and within a word of the bitmap. */
#define MP_PLACES_WORDS	(1u << (MP_PLACES_BITS - MP_PLACES_WORD))
#define MP_PLACES_HINT	5	/* Numbers with one hint: a power of two. */
#define MP_PLACES_AHEAD	16	/* Additions under way: a power of two. */
#define MP_PLACES_CHUNKS 32	/* Arrays of blocks, each twice the last one. */

typedef struct mp_placeword {
  uint32_t bits[2];		/* One for every 8 bytes. */
  uint32_t before;		/* Addresses before the first of these. */
} mp_placeword;

typedef struct mp_placeblock {
  uint64_t key;			/* Address >> MP_PLACES_BITS. */
  mp_placeword words[MP_PLACES_WORDS];
} mp_placeblock;

typedef struct mp_places {
  mp_placeblock **blocks;	/* Ascending, once the set is closed. */
  uint32_t nblocks, capblocks;
  mp_placeblock *chunks[MP_PLACES_CHUNKS];
  uint32_t nchunks;
  mp_placeblock **slots;	/* Hash table of the blocks, or NULL. */
  uint32_t mask;		/* Slots - 1. */
  uint32_t *hints;		/* Word, counted through all blocks, that */
				/* number i << MP_PLACES_HINT lies in, or one */
				/* before it. */
  mp_placeblock *last;		/* Block found last. */
  struct {			/* Additions whose words are being fetched; */
    mp_placeword *word;		/* or NULL. */
    uint64_t bit;
  } ahead[MP_PLACES_AHEAD];
  uint32_t at;			/* The oldest of them. */
  uint32_t count;		/* Addresses; final when closed. */
} mp_places;

#define MP_PLACES_EMPTY { .count = 0 }

/* Adds an address, a multiple of 8; it may be there already. False: no
** memory. */
bool mp_places_add(mp_places *p, const void *addr);

/* Closes the set and numbers its addresses. False: no memory, or there are
** 2^32 of them. */
bool mp_places_close(mp_places *p);

/* The block of that key, or NULL; remembers it. */
const mp_placeblock *mp_places_block(mp_places *p, uint64_t key);

/* Bits that are set. Not every processor has an instruction for it. */
static inline uint32_t mp_places_bits(uint64_t x)
{
  x -= x >> 1 & UINT64_C(0x5555555555555555);
  x = (x & UINT64_C(0x3333333333333333)) +
      (x >> 2 & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint64_t mp_places_word(const mp_placeword *w)
{
  return w->bits[0] | (uint64_t)w->bits[1] << 32;
}

/* The number of an address, or 0: it is not in the set. */
static inline uint32_t mp_places_find(mp_places *p, const void *addr)
{
  uint64_t a = (uint64_t)(uintptr_t)addr, bits;
  uint64_t bit = UINT64_C(1) << (a >> 3 & 63);
  const mp_placeblock *b = mp_places_block(p, a >> MP_PLACES_BITS);
  const mp_placeword *w;
  if (b == NULL || (a & 7)) return 0;
  w = &b->words[a >> MP_PLACES_WORD & (MP_PLACES_WORDS - 1)];
  bits = mp_places_word(w);
  if (!(bits & bit)) return 0;
  return w->before + 1 + mp_places_bits(bits & (bit - 1));
}

/* The address with that number, from 1 to count. */
const void *mp_places_address(const mp_places *p, uint32_t number);

/* Calls f for every address, in the order of the numbers. */
void mp_places_each(const mp_places *p,
		    void (*f)(void *ud, uint32_t number, const void *addr),
		    void *ud);

/* Bytes of memory in use. */
uint64_t mp_places_memory(const mp_places *p);

/* Gives the memory back; the set is empty and usable again. */
void mp_places_free(mp_places *p);

#endif
