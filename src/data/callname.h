/* SPDX-License-Identifier: MIT */
/*
** The names of the system calls in which threads sleep.
*/
#ifndef MP_CALLNAME_H
#define MP_CALLNAME_H

#include <stdbool.h>
#include <stdint.h>

/* The name, in parentheses, of a system call; < 0: of none. A static string. */
const char *mp_callname(int64_t number);

/* Whether event loops wait by that call, and perhaps nothing else does; or
** whether they may, as others do, too. */
bool mp_callname_isloop(int64_t number);
bool mp_callname_maybeloop(int64_t number);

#endif
