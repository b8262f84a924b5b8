/* SPDX-License-Identifier: MIT */
/*
** The profile as plain Lua tables: the only way from the core to the views.
** The fields are documented in jit.mp(3).
*/
#ifndef MP_SNAPSHOT_H
#define MP_SNAPSHOT_H

#include "profile/mark.h"
#include "profile/profile.h"

/* Pushes the profile as one table onto L's stack, where L may be of any VM. With
** `to`, only what was counted up to that mark, and from another one, or from
** the start where `from` is NULL: a window. It has no course, no timeline and no
** ages of objects, which are of the whole run; in use is what is so now.
** Raises Lua errors: out of memory. */
void mp_snapshot(lua_State *L, mp_profile *p, const mp_mark *from,
		 const mp_mark *to);

#endif
