/* SPDX-License-Identifier: MIT */
/*
** The event "trace" of jit.attach: how LuaJIT tells what its compiler decides.
** The event has one handler, which stays that of the program if it has one.
*/
#ifndef MP_TRACING_H
#define MP_TRACING_H

#include "sample/decided.h"

/* Takes the event's handler, if the program has none; else c->why says so. */
void mp_tracing_start(mp_compiler *c, lua_State *L);

/* Gives it back. */
void mp_tracing_stop(mp_compiler *c, lua_State *L);

/* Looks whether the program has set a handler of its own since. */
void mp_tracing_look(mp_compiler *c);

/* The program's handler of that event of jit.attach, or NULL: there is none. */
const void *mp_tracing_handler(lua_State *L, const char *event);

#endif
