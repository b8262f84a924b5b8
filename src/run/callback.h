/* SPDX-License-Identifier: MIT */
/*
** A function of the program's that is called with each batch of CPU samples, as
** jit.profile's is: callback(thread, samples, state, bytes), where bytes is how
** much was allocated since the last call.
**
** It is called at safepoints, in a coroutine of its own. What it allocates does
** not count, and the time it takes is a row of its own. An error in it is said,
** and it is not called again.
*/
#ifndef MP_CALLBACK_H
#define MP_CALLBACK_H

#include <stdbool.h>

#include "run/ctx.h"

/* Takes the field "callback" of the table at index 1 of L, if that is a table
** with such a field. To be called before anything else is started: raises Lua
** errors, where the field is no function, too. */
void mp_callback_take(mp_ctx *c, lua_State *L);

/* Calls it. L is at a safepoint. */
void mp_callback_call(mp_ctx *c, lua_State *L, int samples, int state);

/* The profile ends. */
void mp_callback_drop(mp_ctx *c, lua_State *L);

#endif
