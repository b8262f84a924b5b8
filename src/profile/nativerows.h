/* SPDX-License-Identifier: MIT */
/*
** C memory (sample/native.h) in a snapshot.
*/
#ifndef MP_NATIVEROWS_H
#define MP_NATIVEROWS_H

#include "profile/extent.h"

/* Adds it to the whole snapshot on top of the stack, if the profile has any:
** rows behind those that are there, and the table "native". Raises Lua errors:
** out of memory. */
void mp_nativerows_add(lua_State *L, const mp_profile *p, const mp_extent *e);

#endif
