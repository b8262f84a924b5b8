/* SPDX-License-Identifier: MIT */
/*
** Reports that are made while the program goes on.
**
** A child makes the heap walk that they need (heapwalk/child.h), and a thread
** of ours waits for it and makes the reports, of the moment at which the child
** was forked: the program stands still for the fork alone. A run has one such
** thread at a time, and `final.read` is set meanwhile.
*/
#ifndef MP_BACKGROUND_H
#define MP_BACKGROUND_H

#include "process/ctx.h"

/* Begins them: L is at rest, and there is no such thread. f makes the reports
** in the thread; the run's report has the walk, if share is not 0. needed: they
** are made even if somebody waits for their end. Returns NULL, or why that
** cannot be: a static string. */
const char *mp_background_begin(mp_ctx *c, lua_State *L,
				const mp_heaprequest *request, bool needed,
				void (*f)(mp_ctx *c));

#endif
