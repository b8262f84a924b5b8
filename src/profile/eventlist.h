/* SPDX-License-Identifier: MIT */
/*
** The reallocations and frees of a snapshot.
**
** The collector's frees are not counted as they happen (sample/hook.c): of all
** that a row has allocated they are the part that is not in use and that
** nothing else has freed.
*/
#ifndef MP_EVENTLIST_H
#define MP_EVENTLIST_H

#include "lua.h"

#include "profile/extent.h"
#include "profile/profile.h"

/* Pushes the events in the extent, as a list of tables. Raises Lua errors: out
** of memory. */
void mp_eventlist_push(lua_State *L, const mp_profile *p, const mp_extent *e);

#endif
