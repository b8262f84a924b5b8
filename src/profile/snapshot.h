/* SPDX-License-Identifier: MIT */
/*
** The profile as plain Lua tables: the only way from the core to the views.
** The fields are documented in jit.mp(3).
*/
#ifndef MP_SNAPSHOT_H
#define MP_SNAPSHOT_H

#include "profile/profile.h"

/* Pushes the profile as one table onto L's stack, where L may be of any VM.
** Raises Lua errors: out of memory. */
void mp_snapshot(lua_State *L, mp_profile *p);

#endif
