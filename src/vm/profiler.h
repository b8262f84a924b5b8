/* SPDX-License-Identifier: MIT */
/*
** Who has LuaJIT's profiler: there is one in a process, for one VM at a time.
**
** LuaJIT's API does not tell. So after the first start the place is looked for
** where LuaJIT notes the callback and its data: among the variables of the
** library, or of the program, that LuaJIT is part of. The VM that has it is
** noted just before, NULL while nobody has it. That is written by the thread
** that starts or stops the profiler (lua_close stops it, too).
*/
#ifndef MP_PROFILER_H
#define MP_PROFILER_H

#include <stdbool.h>

#include "luajit.h"

/* Looks for that place: the profiler was just started with these. False: it
** was not found, and nothing below may be asked. */
bool mp_profiler_find(luaJIT_profile_callback cb, const void *data);

/* Whether it is known. */
bool mp_profiler_known(void);

/* Whether the profiler runs with these. Async-signal-safe. */
bool mp_profiler_runs(luaJIT_profile_callback cb, const void *data);

/* Whether the profiler runs at all. */
bool mp_profiler_taken(void);

#endif
