/* SPDX-License-Identifier: MIT */
/*
** The beginning and the end of a state of our own.
**
** If memory runs out while the library ffi is opened, lua_close of LuaJIT
** before April 2024 follows a null pointer. Such a state must not be closed.
*/
#ifndef MP_OWN_H
#define MP_OWN_H

#include <stdbool.h>

#include "lua.h"

/* Opens the libraries of a new state, which nobody profiles. From now on
** *ffi_half_open, which has to live as long as L, says whether ffi was opened
** in part. Returns whether L has that library. Raises an error if there is no
** memory. */
bool mp_own_open(lua_State *L, bool *ffi_half_open);

/* Closes it if it may be closed. If not, it remains, without an allocator, so
** that luajit-mp attach does not take it for a state of the program. */
void mp_own_close(lua_State *L, bool ffi_half_open);

#endif
