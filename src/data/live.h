/* SPDX-License-Identifier: MIT */
/*
** Address -> number of a sampled object that is still alive.
**
** Every free of the profiled program calls mp_live_take, so the answer "not
** sampled" must cost next to nothing. In nearly every case it comes from a
** filter, which counts sampled objects by some bits of their address. Objects
** that are close together in the heap are close together in the filter.
**
** A dense table, in which every object is, has a cell for every 16 bytes of the
** heap (data/pages.h). Few allocators place two objects within the same 16
** aligned bytes; if one does, the newer object replaces the older, and
** mp_live_put returns the older one's id.
*/
#ifndef MP_LIVE_H
#define MP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/filter.h"
#include "data/pages.h"
#include "data/sparse.h"

typedef struct mp_live {
  uint8_t hashes[MP_FILTER_HASHES];  /* Objects with that hash; 255: full. */
  bool dense;			/* They are in `pages`, not in `sparse`. */
  mp_pages pages;
  mp_sparse sparse;
} mp_live;

/* Whether the object at addr may be in the table. */
static inline bool mp_live_may(const mp_live *l, const void *addr)
{
  return l->hashes[mp_filter_hash(addr)] != 0;
}

/* mp_live_put and mp_live_take where the table is not dense. */
uint32_t mp_live_putsparse(mp_live *l, const void *addr, uint32_t id);
uint32_t mp_live_takesparse(mp_live *l, const void *addr);

/* mp_live_take for objects that pass the filter. */
static inline uint32_t mp_live_find(mp_live *l, const void *addr)
{
  return l->dense ? mp_pages_take(&l->pages, addr) :
	 mp_live_takesparse(l, addr);
}

/* Makes an empty table; takes little memory. dense: every object will be in
** it, so that filtering is not worth while. False: no memory. */
bool mp_live_init(mp_live *l, bool dense);

/* Remembers id (not 0) for the object at addr. Returns 0, or the id that was
** replaced, or MP_LIVE_NOMEM. */
#define MP_LIVE_NOMEM UINT32_MAX
static inline uint32_t mp_live_put(mp_live *l, const void *addr, uint32_t id)
{
  return l->dense ? mp_pages_put(&l->pages, addr, id) :
	 mp_live_putsparse(l, addr, id);
}

/* Forgets the object at addr and returns its id; 0: it was not sampled. */
static inline uint32_t mp_live_take(mp_live *l, const void *addr)
{
  return mp_live_may(l, addr) ? mp_live_find(l, addr) : 0;
}

/* The id of the object at addr, which stays; 0: it was not sampled. */
uint32_t mp_live_get(const mp_live *l, const void *addr);

/* Calls f for all objects, in no order, with the address (where the table is
** dense, less its lowest four bits) and the id. */
typedef void mp_live_see(void *data, const void *addr, uint32_t id);
void mp_live_each(const mp_live *l, mp_live_see *see, void *data);

/* Objects in the table. */
static inline size_t mp_live_count(const mp_live *l)
{
  return l->dense ? l->pages.count : l->sparse.count;
}

/* Bytes of memory in use, without the table itself. */
size_t mp_live_memory(const mp_live *l);

/* Gives all memory back. */
void mp_live_free(mp_live *l);

#endif
