/* SPDX-License-Identifier: MIT */
/*
** The files are rewritten while the program runs (option w).
**
** Where a heap walk is wanted, a child makes it, and a thread of ours the
** reports: the program stands still for the fork alone.
*/
#ifndef MP_REWRITE_H
#define MP_REWRITE_H

#include "process/ctx.h"

/* Rewrites the files. L is at rest; NULL: the VM is not, and there is no walk.
** An error is only reported at the end, if it persists. */
void mp_rewrite(mp_ctx *c, lua_State *L);

#endif
