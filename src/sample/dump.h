/* SPDX-License-Identifier: MIT */
/*
** A stack by LuaJIT's API, where the VM's layout is not known: by lua_getinfo,
** and for C functions by LuaJIT's own dump of it.
**
** luaJIT_profile_dumpstack takes memory of the VM, may raise an error, and has
** one buffer for the process, which belongs to the VM that has the profiler and
** is freed with that VM: no other VM may call anything here. The dump is used
** where the VM expects all that, at safepoints and in hooks, never inside the
** allocator.
*/
#ifndef MP_DUMP_H
#define MP_DUMP_H

#include <stdint.h>

#include "data/stacks.h"

#include "lua.h"

#define MP_DUMP_DEPTH	100	/* Frames of a stack, from the top. */

/* Interns the frames of the stack of L, which is at a safepoint, into
** ids[MP_DUMP_DEPTH], top first. Returns their number, or -1: no memory. */
int mp_dump_frames(mp_stacks *s, lua_State *L, uint32_t *ids);

/* Makes the VM's buffer large, so that it need not grow while the program
** runs. In a protected call. Raises Lua errors: out of memory. */
int mp_dump_prepare(lua_State *L);

#endif
