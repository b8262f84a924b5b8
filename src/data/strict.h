/* SPDX-License-Identifier: MIT */
/*
** A child that reads what a stranger may have made up: if that misleads it, it
** can do no harm.
*/
#ifndef MP_STRICT_H
#define MP_STRICT_H

#include <stdbool.h>

/* From now on this thread may only take memory, read the clock, and end: other
** system calls fail. False: the system does not have that. */
bool mp_strict_begin(void);

#endif
