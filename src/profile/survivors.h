/* SPDX-License-Identifier: MIT */
/*
** The part of a snapshot for leak reports: the memory that collections left
** alive.
*/
#ifndef MP_SURVIVORS_H
#define MP_SURVIVORS_H

#include "sample/alloc.h"

/* Sets the fields collections, held and survivors of the table on top of the
** stack, for rows up to that one. Raises Lua errors: out of memory. */
void mp_survivors_push(lua_State *L, mp_alloc *h, uint32_t rows);

#endif
