/* SPDX-License-Identifier: MIT */
/*
** C memory (native/native.h) in a snapshot.
*/
#ifndef MP_NATIVEROWS_H
#define MP_NATIVEROWS_H

#include "profile/extent.h"

/* An addition (profile/profile.h) to the whole snapshot, none to a window: if
** the profile has C memory, rows after those that are there, and the table
** "native". Where there is a heap walk, "native_place" is a list of the rows by
** the sampler's numbers; 0: there is none. */
void mp_nativerows_add(lua_State *L, mp_profile *p, const mp_extent *e,
		       const mp_scope *scope);

#endif
