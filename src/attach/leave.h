/* SPDX-License-Identifier: MIT */
/*
** Ways out of compiled code, which looks at no hook: it may run for ever. For
** one kind of builds: see attach/kind.h.
*/
#ifndef MP_LEAVE_H
#define MP_LEAVE_H

#include "attach/find.h"
#include "attach/safe.h"

#ifdef MP_REFS32
#define mp_leave mp_leave_refs32
#endif

/* If the thread is in compiled code, steps it, instruction by instruction, to a
** place where the code can be left for the interpreter, and makes it leave
** there. False: the thread is elsewhere, or no such place was reached within
** that many seconds. */
bool mp_leave(const mp_code *c, const mp_found *state, mp_tracee *t,
	      double seconds);

#endif
