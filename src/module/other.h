/* SPDX-License-Identifier: MIT */
/*
** The core for builds of LuaJIT of the other kind. On x86-64 there are builds
** in GC64 mode and builds without it, whose layouts have nothing in common; the
** core is compiled for each (core32.so lies beside core.so).
*/
#ifndef MP_OTHER_H
#define MP_OTHER_H

#include "lua.h"

/* The function that opens that core, if this VM needs it and it is there; or
** NULL. */
lua_CFunction mp_other_core(lua_State *L);

#endif
