/* SPDX-License-Identifier: MIT */
/*
** Userdata of the profiler in the VM, which a program can reach through the
** debug library. A payload is trusted only while its metatable is there.
*/
#ifndef MP_USERDATA_H
#define MP_USERDATA_H

#include <stddef.h>

#include "lua.h"

/* Pushes a new userdata of zeros with that finalizer. key: the address of a
** static variable, by which the userdata is known. Raises Lua errors: out of
** memory. */
void *mp_userdata_new(lua_State *L, size_t size, const void *key,
		      lua_CFunction gc);

/* The payload of the value at that index; NULL: it is not that userdata, or the
** program has taken its metatable away. Makes no allocation. */
void *mp_userdata_get(lua_State *L, int index, const void *key);

#endif
