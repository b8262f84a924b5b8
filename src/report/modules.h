/* SPDX-License-Identifier: MIT */
/*
** Where the private states find their modules: fixed when the core is loaded.
*/
#ifndef MP_MODULES_H
#define MP_MODULES_H

#include "lua.h"

/* Pushes a package.path for them. Raises Lua errors: out of memory. */
void mp_modules_path(lua_State *L);

#endif
