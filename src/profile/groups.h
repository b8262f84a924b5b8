/* SPDX-License-Identifier: MIT */
/*
** The values of a snapshot that describe the profile as a whole: the groups
** info, cpu and heap, and where events are recorded the allocations of each
** type.
*/
#ifndef MP_GROUPS_H
#define MP_GROUPS_H

#include "lua.h"

#include "profile/mark.h"
#include "profile/profile.h"

/* Sets them in the table on top of the stack. from, to: the window, as in
** mp_snapshot. Raises Lua errors: out of memory. */
void mp_groups_push(lua_State *L, mp_profile *p, const mp_mark *from,
		    const mp_mark *to);

#endif
