/* SPDX-License-Identifier: MIT */
/*
** The functions window, mark and since of jit.mp.core.
*/
#ifndef MP_LIB_WINDOW_H
#define MP_LIB_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "process/ctx.h"
#include "profile/moment.h"

#include "lua.h"

/* Writes a report of a running profile, or of a window (profile/snapshot.h),
** by the options and outputs that are on L's stack, which has nothing else.
** Returns what mp_report_write does, with a message in buf. *help: the report
** was the list of the options. */
int mp_window_write(lua_State *L, mp_ctx *c, const mp_moment *from,
		    const mp_moment *to, bool *help, char *buf, size_t n);

/* Sets them in the table on top of the stack. */
void mp_window_functions(lua_State *L);

#endif
