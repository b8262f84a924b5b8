/*
** Address -> number of a sampled object that is still alive.
**
** Every free of the profiled program asks mp_live_take, so the answer "not
** sampled" must cost next to nothing: a filter gives it in nearly every case,
** which counts the sampled objects by some bits of their address. What lies
** close together in the heap lies close together there.
**
** When every object is sampled the cells must lie as close together as the
** objects do. So the table is grouped by page: a hash table from page number
** to a leaf of cells, a cell for every 16 bytes of the page. Samples few and
** far between have nothing from that: then a page is small, so that a leaf,
** which is mostly empty, is small too. Objects that begin within the same 16
** aligned bytes do not occur in any allocator met so far (a block of 8 bytes
** has an 8-byte header): the newer replaces the older, and mp_live_put tells.
** A leaf is given back when its last cell empties.
*/
#ifndef MP_LIVE_H
#define MP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_LIVE_LAST	64	/* A power of two. */
#define MP_LIVE_HASHES	65536	/* As many as mp_live_hash has values. */

typedef struct mp_leaf {
  struct mp_leaf *next;		/* Next free leaf. */
  uint32_t count;		/* Cells in use. */
  uint32_t cells[];		/* Ids, 0: empty. */
} mp_leaf;

typedef struct mp_leafslot {
  uint64_t page;		/* Number of a page, */
  mp_leaf *leaf;		/* and its leaf; NULL: empty slot. */
} mp_leafslot;

typedef struct mp_live {
  uint8_t hashes[MP_LIVE_HASHES];  /* Objects with it; 255: for ever. */
  mp_leafslot last[MP_LIVE_LAST];  /* Pages looked for last, by number. */
  mp_leafslot *slots;		/* The hash table. */
  uint32_t mask;		/* Slots - 1. */
  uint32_t npages;		/* Slots in use. */
  uint32_t bits;		/* Of an address within its page. */
  size_t count;			/* Objects. */
  mp_leaf *freeleaves;		/* All their cells are 0. */
  void *slabs;			/* Memory that leaves come from. */
  size_t nslabs, slabbytes;
} mp_live;

/* Objects are 16 bytes apart or more. */
static inline uint32_t mp_live_hash(const void *addr)
{
  return (uint32_t)((uintptr_t)addr >> 4) & (MP_LIVE_HASHES - 1);
}

/* Whether the object at addr may be in the table. */
static inline bool mp_live_may(const mp_live *l, const void *addr)
{
  return l->hashes[mp_live_hash(addr)] != 0;
}

/* mp_live_take where the filter does not say "not sampled" at once. */
uint32_t mp_live_find(mp_live *l, const void *addr);

/* Makes an empty table; takes little memory. dense: every object will be in
** it, so that pages are large, and filtering is not worth while. False: no
** memory. */
bool mp_live_init(mp_live *l, bool dense);

/* Remembers id (not 0) for the object at addr. Returns 0, or the id that was
** replaced, or MP_LIVE_NOMEM. */
#define MP_LIVE_NOMEM UINT32_MAX
uint32_t mp_live_put(mp_live *l, const void *addr, uint32_t id);

/* Forgets the object at addr and returns its id; 0: it was not sampled. */
static inline uint32_t mp_live_take(mp_live *l, const void *addr)
{
  return mp_live_may(l, addr) ? mp_live_find(l, addr) : 0;
}

/* The id of the object at addr, which stays; 0: it was not sampled. */
uint32_t mp_live_get(const mp_live *l, const void *addr);

/* Bytes of memory in use, without the table itself. */
size_t mp_live_memory(const mp_live *l);

/* Gives all memory back. */
void mp_live_free(mp_live *l);

#endif
