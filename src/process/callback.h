/* SPDX-License-Identifier: MIT */
/*
** A function of the program that is called with each batch of CPU samples, as
** that of jit.profile is: callback(thread, samples, state, bytes), where bytes
** is the number of bytes allocated since the last call.
**
** The function is called at safepoints, in a coroutine of its own. Its own
** allocations do not count, and its time has a row of its own. An error in the
** function is printed, and the function is not called again.
*/
#ifndef MP_CALLBACK_H
#define MP_CALLBACK_H

#include <stdbool.h>

#include "process/ctx.h"

/* Takes the field "callback" of the table at index 1 of L, if that is a table
** with such a field: then returns true, and pushes the coroutine, which the
** caller keeps from the collector. To be called before anything else is
** started: raises Lua errors, one of which is for a field that is not a
** function. */
bool mp_callback_take(mp_ctx *c, lua_State *L);

/* Calls it. L is at a safepoint. */
void mp_callback_call(mp_ctx *c, lua_State *L, int samples, int state);

#endif
