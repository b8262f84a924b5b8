/* SPDX-License-Identifier: MIT */
/*
** The work at a safepoint: the function that LuaJIT's profiler calls.
*/
#ifndef MP_SAFEPOINT_H
#define MP_SAFEPOINT_H

#include "lua.h"

/* A luaJIT_profile_callback; data: the mp_ctx. */
void mp_safepoint(void *data, lua_State *L, int signals, int state);

#endif
