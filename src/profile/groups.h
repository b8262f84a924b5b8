/* SPDX-License-Identifier: MIT */
/*
** The values of a snapshot that describe the profile as a whole: the groups
** info, cpu and heap, and where events are recorded the allocations of each
** type.
*/
#ifndef MP_GROUPS_H
#define MP_GROUPS_H

#include "lua.h"

#include "profile/profile.h"
#include "profile/moment.h"

/* Sets them in the table on top of the stack. Raises Lua errors: out of
** memory. */
void mp_groups_push(lua_State *L, mp_profile *p, const mp_scope *scope);

#endif
