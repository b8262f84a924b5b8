/* SPDX-License-Identifier: MIT */
/*
** The library ffi of a state of our own.
**
** If memory runs out while the library is opened, lua_close of LuaJIT before
** April 2024 follows a null pointer. Such a state must not be closed.
*/
#ifndef MP_FFI_H
#define MP_FFI_H

#include <stdbool.h>

#include "lua.h"

/* From now on *half_open, which has to live as long as L, says whether the
** library was opened in part. L's libraries are open. Returns whether L has the
** library. Raises an error if there is no memory. */
bool mp_ffi_watch(lua_State *L, bool *half_open);

#endif
