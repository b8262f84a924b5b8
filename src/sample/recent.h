/* SPDX-License-Identifier: MIT */
/*
** The rows of places that were met not long ago, by PC.
**
** Most allocations are made where one was made before, on the same stack. Then
** a few words tell that all is as it was, and no hash is needed. A place on
** record was that of a spot (vm/where.h). It stays valid until the walk forgets
** all frames.
*/
#ifndef MP_RECENT_H
#define MP_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/where.h"

#define MP_RECENT	128	/* Places in a table: a power of two. */

typedef struct mp_recent {
  uint64_t pc, func;		/* Of the spot. */
  uint64_t frames;		/* The key of the frames below. */
  const char *trace;
  uint64_t rest;		/* Zone, state and type. */
  uint32_t row;
  uint32_t age;			/* Of the walk then. */
} mp_recent;

/* Where a spot is kept: one call may allocate objects of several types. */
static inline mp_recent *mp_recent_slot(mp_recent *table, const mp_spot *s,
					uint8_t type)
{
  return &table[(s->pc ^ s->pc >> 7 ^ type) & (MP_RECENT - 1)];
}

static inline uint64_t mp_recent_rest(const mp_spot *s, uint32_t zone,
				      uint8_t type)
{
  return (uint64_t)zone << 32 | (uint64_t)s->state << 8 | type;
}

static inline bool mp_recent_is(const mp_recent *r, const mp_spot *s,
				uint64_t frames, uint64_t rest, uint32_t age)
{
  return r->pc == s->pc && r->func == s->func && r->frames == frames &&
	 r->trace == s->trace && r->rest == rest && r->age == age;
}

#endif
