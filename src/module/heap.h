/* SPDX-License-Identifier: MIT */
/*
** The functions heap, why and dot of jit.mp.core.
*/
#ifndef MP_LIB_HEAP_H
#define MP_LIB_HEAP_H

#include "lua.h"

/* Sets them in the table on top of the stack. */
void mp_heap_functions(lua_State *L);

#endif
