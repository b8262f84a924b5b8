/* SPDX-License-Identifier: MIT */
/*
** Functions of jit.mp.core for labels of coroutines (sample/label.h).
*/
#ifndef MP_MODULE_LABEL_H
#define MP_MODULE_LABEL_H

#include "lua.h"

/* Adds them to the table on top of the stack. */
void mp_label_functions(lua_State *L);

#endif
