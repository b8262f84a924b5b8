/* SPDX-License-Identifier: MIT */
/*
** The work at a safepoint: the function that LuaJIT's profiler calls.
*/
#ifndef MP_SAFEPOINT_H
#define MP_SAFEPOINT_H

#include "lua.h"
#include "process/ctx.h"

/* An mp_cpu_callback; data: the mp_ctx. */
void mp_safepoint(void *data, lua_State *L, int samples, mp_tally waiting,
		  int state);

/* An mp_cpu_incode: that part of the work which does not touch the VM, where
** the next safepoint may be far away. */
void mp_safepoint_incode(void *data);

#endif
