/* SPDX-License-Identifier: MIT */
/*
** The places where LuaJIT's allocator calls the system. That memory is the Lua
** heap, which is counted by its objects, not as C memory.
*/
#ifndef MP_NATIVESITES_H
#define MP_NATIVESITES_H

#include "lua.h"

#include "data/port.h"

/* Learns the places by making LuaJIT's own allocator, and that one, request
** memory in all of their ways; from then on the port knows them. Takes a Lua
** state for a moment. One thread at a time. */
void mp_nativesites_learn(mp_port *port, lua_Alloc f, void *ud);

#endif
