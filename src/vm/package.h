/* SPDX-License-Identifier: MIT */
/*
** The functions of LuaJIT's library package. They are builtins without numbers,
** and the loaders behind require have not even names.
*/
#ifndef MP_PACKAGE_H
#define MP_PACKAGE_H

#include "lua.h"

/* Learns where the functions are from a state of our own, whose libraries are
** open. Once in a process; may raise an error. */
void mp_package_learn(lua_State *L);

/* The name of the function at an address, or NULL. Async-signal-safe. */
const char *mp_package_name(const void *f);

#endif
