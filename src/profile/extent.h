/* SPDX-License-Identifier: MIT */
/*
** The contents of a snapshot: everything that exists when it begins, or the
** parts that a window needs. Finalizers in the profiled VM may add more while
** the snapshot is made; these additions are not part of it.
*/
#ifndef MP_EXTENT_H
#define MP_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/moment.h"

#include "lua.h"

typedef struct mp_extent {
  uint32_t frames, stacks, zones, rows, points, changes, events;
  uint32_t giveups, made, escaped;  /* Of the compiler. */
  mp_scope scope;
  uint32_t *frame_of, *stack_of, *row_of;  /* New numbers, from 1, by the old
					   ** ones; 0: left out. NULL: the same
					   ** for all. */
} mp_extent;

/* Fills it in. Pushes one value onto L's stack, which holds the memory. Raises
** Lua errors: out of memory. */
void mp_extent_push(lua_State *L, mp_extent *e, const mp_profile *p,
		    const mp_scope *scope);

/* The row of p with that number, as it is in the snapshot. */
mp_row mp_extent_row(const mp_extent *e, const mp_profile *p, uint32_t i);

/* The new number. */
static inline uint32_t mp_extent_new(const uint32_t *of, uint32_t old)
{
  return of != NULL ? of[old] : old;
}

#endif
