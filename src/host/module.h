/* SPDX-License-Identifier: MIT */
/*
** The modules of this installation, in a program's state.
*/
#ifndef MP_MODULE_H
#define MP_MODULE_H

#include "lua.h"

/* Pushes the module that require finds by the paths of the program, or else in
** the installation of this library. Raises Lua errors. */
void mp_module_push(lua_State *L, const char *name);

#endif
