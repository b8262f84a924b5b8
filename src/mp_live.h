/*
** Address -> number of a sampled object that is still alive.
**
** Every free of the profiled program asks mp_live_take, so the answer "not
** sampled" must cost next to nothing; and when every object is sampled the
** cells must lie as close together as the objects do. So the table is
** grouped by page: a hash table from page number to a leaf of cells, a cell
** for every 16 bytes of the page. Objects that begin within the same 16
** aligned bytes do not occur in any allocator met so far (a block of 8 bytes
** has an 8-byte header): the newer replaces the older, and mp_live_put tells.
** A leaf is given back when its last cell empties.
*/
#ifndef MP_LIVE_H
#define MP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_LIVE_PAGE	12	/* Bits of an address within its page. */
#define MP_LIVE_CELLS	256	/* Cells in a page. */
#define MP_LIVE_LAST	64	/* A power of two. */
#define MP_LIVE_FILTER	8192	/* A power of two. */

typedef struct mp_leaf {
  uint32_t count;		/* Cells in use. */
  struct mp_leaf *next;		/* Next free leaf. */
  uint32_t cells[MP_LIVE_CELLS];  /* Ids, 0: empty. */
} mp_leaf;

typedef struct mp_live {
  uint8_t filter[MP_LIVE_FILTER];  /* Objects with that hash; 255: or more. */
  struct {
    uint64_t page;
    mp_leaf *leaf;		/* Or NULL. */
  } last[MP_LIVE_LAST];		/* Pages looked for last, by their number. */
  uint64_t *pages;		/* Slots of the hash table: page numbers, */
  mp_leaf **leaves;		/* and their leaves; NULL: empty slot. */
  uint32_t mask;		/* Slots - 1. */
  uint32_t npages;		/* Slots in use. */
  size_t count;			/* Objects. */
  mp_leaf *freeleaves;		/* All their cells are 0. */
  void *slabs;			/* Memory that leaves come from. */
  size_t nslabs;
} mp_live;

static inline uint32_t mp_live_hash(const void *addr)
{
  uint64_t cell = (uint64_t)(uintptr_t)addr >> 4;
  return (uint32_t)((cell * UINT64_C(0x9e3779b97f4a7c15)) >> 40) &
	 (MP_LIVE_FILTER - 1);
}

/* Whether the object at addr may be in the table. */
static inline bool mp_live_may(const mp_live *l, const void *addr)
{
  return l->filter[mp_live_hash(addr)] != 0;
}

/* mp_live_take where the filter does not say "not sampled" at once. */
uint32_t mp_live_find(mp_live *l, const void *addr);

/* Makes an empty table; takes little memory. dense: every object will be in
** it, so that it is not worth while to filter. False: no memory. */
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

/* From now on mp_live_may says yes for that address. */
void mp_live_watch(mp_live *l, const void *addr);

/* Bytes of memory in use, without the table itself. */
size_t mp_live_memory(const mp_live *l);

/* Gives all memory back. */
void mp_live_free(mp_live *l);

#endif
