/* SPDX-License-Identifier: MIT */
/*
** Addresses of objects, numbered from 1 in ascending order.
**
** A heap has millions of objects, and each reference among them is turned into
** a number: so a page of the address space is a bitmap with counts, which a
** lookup reaches through one hash table of pages. Neighbours in memory are
** neighbours in the table. An object takes about two bytes.
**
** All addresses are added first; then the set is closed; lookups come last.
** Memory comes from malloc. One thread at a time.
*/
#ifndef MP_PLACES_H
#define MP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define MP_PLACES_WORDS	8	/* Words of a page's bitmap. */
#define MP_PLACES_BITS	12	/* Of an address within its page. */
#define MP_PLACES_HINT	7	/* Numbers with one hint: a power of two. */

typedef struct mp_place {
  uint64_t page;		/* Address >> MP_PLACES_BITS. */
  uint64_t bits[MP_PLACES_WORDS];  /* One for every 8 bytes. */
  uint16_t before[MP_PLACES_WORDS];  /* Objects in the words before. */
  uint32_t first;		/* Number of the first object, less 1. */
} mp_place;

typedef struct mp_places {
  mp_place *pages;		/* Ascending, once the set is closed. */
  uint32_t npages, cappages;
  uint32_t *slots;		/* Hash table: index of a page + 1, or 0. */
  uint32_t mask;		/* Slots - 1. */
  uint32_t *hints;		/* Index of the page that object number */
				/* i << MP_PLACES_HINT lies in, or before it. */
  uint32_t last;		/* Page found last. */
  uint32_t count;		/* Addresses; final when closed. */
} mp_places;

#define MP_PLACES_EMPTY { NULL, 0, 0, NULL, 0, NULL, 0, 0 }

/* Adds an address, a multiple of 8; it may be there already. False: no
** memory, or there are 2^32 of them. */
bool mp_places_add(mp_places *p, const void *addr);

/* Closes the set and numbers its addresses. False: no memory, or too many. */
bool mp_places_close(mp_places *p);

/* The page of an address, or NULL; remembers it. */
const mp_place *mp_places_page(mp_places *p, uint64_t page);

/* Bits that are set. Not every processor has an instruction for it. */
static inline uint32_t mp_places_bits(uint64_t x)
{
  x -= x >> 1 & UINT64_C(0x5555555555555555);
  x = (x & UINT64_C(0x3333333333333333)) +
      (x >> 2 & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The number of an address, or 0: it is not in the set. */
static inline uint32_t mp_places_find(mp_places *p, const void *addr)
{
  uint64_t a = (uint64_t)(uintptr_t)addr;
  const mp_place *pg = mp_places_page(p, a >> MP_PLACES_BITS);
  uint32_t word = (uint32_t)(a >> 9 & (MP_PLACES_WORDS - 1));
  uint64_t bit = UINT64_C(1) << (a >> 3 & 63);
  if (pg == NULL || (a & 7) || !(pg->bits[word] & bit)) return 0;
  return pg->first + pg->before[word] + 1 +
	 mp_places_bits(pg->bits[word] & (bit - 1));
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
