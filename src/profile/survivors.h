/* SPDX-License-Identifier: MIT */
/*
** The part of a snapshot for leak reports: the memory that collections left
** alive.
*/
#ifndef MP_SURVIVORS_H
#define MP_SURVIVORS_H

#include "sample/alloc.h"

/* Objects of a row that a collection left alive. */
typedef struct mp_survived {
  double objects;
  double births;		/* Sum of the times of birth, in seconds. */
} mp_survived;

/* Counts them, by row, up to that one; s is filled with zeros. */
void mp_survivors_count(const mp_alloc *h, mp_survived *s, uint32_t rows);

/* Sets the fields collections, held and survivors of the table on top of the
** stack, for rows up to that one. survived: their numbers, if they are known
** already, or NULL. Raises Lua errors: out of memory. */
void mp_survivors_push(lua_State *L, mp_alloc *h, uint32_t rows,
		       const mp_survived *survived);

/* Push records, and what each holds of the rows up to that one. place: the
** numbers of the rows in the snapshot, 0: it has none; or NULL: they are the
** same. Raise Lua errors: out of memory. */
void mp_survivors_push_records(lua_State *L, const mp_held *h);
void mp_survivors_push_held(lua_State *L, const mp_held *h, uint32_t rows,
			    const uint32_t *place);

#endif
