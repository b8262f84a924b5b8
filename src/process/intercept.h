/* SPDX-License-Identifier: MIT */
/*
** Calls of the C library that the profiler has to know of (data/execport.h).
**
** After luajit-mp run a preloaded library sees them. Else the objects of the
** process are made to call the core's functions: each has a table of the
** functions that it calls in others (GOT), where the loader has written their
** addresses. What LuaJIT looks up by dlsym, for ffi.C, is seen as well, and by
** that the objects that it has loaded since: modules written in C.
**
** The calls of a program that has no table, or that asked for a function's
** address before, are not seen. When the last profile of the process ends, the
** tables are as they were; who has an address of ours calls the original by it.
*/
#ifndef MP_INTERCEPT_H
#define MP_INTERCEPT_H

#include "data/execport.h"

/* The port of the functions that see the calls; NULL: there is none. */
mp_execport *mp_intercept_port(void);

/* From now on they are called, also from objects that were loaded since; and no
** more. To be called under the lock. */
void mp_intercept_begin(void);
void mp_intercept_end(void);

#endif
