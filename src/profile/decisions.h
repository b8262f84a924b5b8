/* SPDX-License-Identifier: MIT */
/*
** The decisions of the JIT compiler (sample/compiler.h) as tables of a
** snapshot.
*/
#ifndef MP_DECISIONS_H
#define MP_DECISIONS_H

#include "profile/extent.h"

/* Sets fields of the snapshot on top of the stack. Raises Lua errors: out of
** memory. */
void mp_decisions_push(lua_State *L, const mp_profile *p, const mp_extent *e);

#endif
