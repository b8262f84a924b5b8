/* SPDX-License-Identifier: MIT */
/*
** C functions as LuaJIT calls them: its own directly, others through the
** wrapper of the program (LUAJIT_MODE_WRAPCFUNC), if there is one.
*/
#ifndef MP_CFUNCTION_H
#define MP_CFUNCTION_H

#include <stdbool.h>

#include "lua.h"

/* Makes the VM call a function of ours like one of its own. Both arguments are
** objects (lua_topointer): that of our function f, and one of LuaJIT's. Writes
** to our object if its contents are as expected; else returns false. The layout
** is proved (vm/prove.h). */
bool mp_cfunction_unwrap(void *ours, lua_CFunction f, const void *theirs);

#endif
