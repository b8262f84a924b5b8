/* SPDX-License-Identifier: MIT */
/*
** start([options [, out...]]) of jit.mp.core, and by_option() for option -jm.
*/
#ifndef MP_START_H
#define MP_START_H

#include "lua.h"

/* Its upvalue is the package.path of the private state (report/modules.h). */
int mp_start(lua_State *L);

/* by_option(...): a start that raises what is wrong, and ends the program once
** the help was printed. The first upvalue is start. Called last of all, it
** leaves no Lua code of the profiler's to be sampled. */
int mp_start_by_option(lua_State *L);

#endif
