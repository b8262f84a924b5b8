/* SPDX-License-Identifier: MIT */
/*
** Ways out of compiled code, which looks at no hook: it may run for ever.
*/
#ifndef MP_LEAVE_H
#define MP_LEAVE_H

#include "attach/find.h"
#include "attach/safe.h"

/* If the thread is in compiled code, takes it on, instruction by instruction,
** to a place where the code may be left for the interpreter, and has it leave
** there. False: it is elsewhere, or no such place came. */
bool mp_leave(const mp_code *c, const mp_found *state, mp_tracee *t);

#endif
