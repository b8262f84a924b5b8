/* SPDX-License-Identifier: MIT */
/*
** The profile as plain Lua tables: the only way from the core to the views.
** The fields are documented in jit.mp(3).
*/
#ifndef MP_SNAPSHOT_H
#define MP_SNAPSHOT_H

#include "lua.h"
#include "profile/extent.h"
#include "profile/moment.h"
#include "profile/profile.h"

/* Pushes the profile as one table onto the stack of L, which may be of any VM;
** if that is the profiled one, there must be a moment. A window has no course,
** no timeline and no ages of objects, which belong to the whole run; its bytes
** in use are those of the present moment. Raises Lua errors: out of memory. */
void mp_snapshot(lua_State *L, mp_profile *p, const mp_scope *scope);

#endif
