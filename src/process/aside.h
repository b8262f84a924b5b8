/* SPDX-License-Identifier: MIT */
/*
** Threads of the profiler's own, which do something while the program goes on.
*/
#ifndef MP_ASIDE_H
#define MP_ASIDE_H

#include <stdbool.h>

/* Calls f in a new thread, to which no signal of the program comes, and which
** nobody waits for. False: there can be no such thread. */
bool mp_aside(void *(*f)(void *data), void *data);

#endif
