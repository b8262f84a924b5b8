/* SPDX-License-Identifier: MIT */
/*
** The names of C functions in a snapshot.
*/
#ifndef MP_CNAMES_H
#define MP_CNAMES_H

#include "data/stacks.h"
#include "profile/extent.h"

#include "lua.h"

/* Names the C functions among the frames of a snapshot: the list on top of the
** stack. One whose symbol is known gets the field `definition`, and one that
** asked for C memory its name. Raises Lua errors: out of memory. */
void mp_cnames(lua_State *L, const mp_stacks *s, const mp_extent *e);

#endif
