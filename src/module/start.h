/* SPDX-License-Identifier: MIT */
/*
** start([options [, out...]]): the function of jit.mp.core.
*/
#ifndef MP_START_H
#define MP_START_H

#include "lua.h"

/* Its upvalue is the package.path of the private state (report/modules.h). */
int mp_start(lua_State *L);

#endif
