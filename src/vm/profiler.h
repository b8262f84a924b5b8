/* SPDX-License-Identifier: MIT */
/*
** The owner of LuaJIT's profiler: a process has one, for one VM at a time.
**
** LuaJIT's API does not tell the owner. So after the first start we look for
** the place where LuaJIT stores the callback and its data, among the variables
** of the library or program that LuaJIT is part of. The word before them is the
** VM that has the profiler, or NULL if none has. The thread that starts or
** stops the profiler writes this word (lua_close stops the profiler, too).
*/
#ifndef MP_PROFILER_H
#define MP_PROFILER_H

#include <stdbool.h>

#include "luajit.h"

/* Looks for that place: the profiler was just started with these. False: the
** place was not found, and no function below may be called. */
bool mp_profiler_find(luaJIT_profile_callback cb, const void *data);

/* Whether that place is known. */
bool mp_profiler_known(void);

/* Whether the profiler runs with these. Async-signal-safe. */
bool mp_profiler_runs(luaJIT_profile_callback cb, const void *data);

/* Whether these are the values of its last start; it may have ended. */
bool mp_profiler_last(luaJIT_profile_callback cb, const void *data);

/* Whether the profiler runs at all. */
bool mp_profiler_taken(void);

/* Whether a stack was dumped since the profiler was started. */
bool mp_profiler_dumped(void);

/* Makes another VM the owner, if that one is; a VM is given as LuaJIT refers to
** it. False: it is not. Async-signal-safe. */
bool mp_profiler_pass(void *from, void *to);

/* The same whoever is the owner. */
void mp_profiler_reset(void *to);

/* Changes the data of the last start. */
void mp_profiler_set_data(const void *data);

#endif
