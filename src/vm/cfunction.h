/* SPDX-License-Identifier: MIT */
/*
** C functions as LuaJIT calls them: its own directly, others through the
** wrapper of the program (LUAJIT_MODE_WRAPCFUNC), if there is one.
*/
#ifndef MP_CFUNCTION_H
#define MP_CFUNCTION_H

#include <stdbool.h>

#include "lua.h"

/* From now on the VM calls a function of ours as one of its own. The objects of
** both (lua_topointer): ours, which is f, and one of LuaJIT's. Writes to our
** object, where all that it must be is what is found there; else returns false.
** The layout is proved (vm/prove.h). */
bool mp_cfunction_unwrap(void *ours, lua_CFunction f, const void *theirs);

#endif
