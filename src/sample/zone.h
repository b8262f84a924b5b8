/* SPDX-License-Identifier: MIT */
/*
** The zones that the program has entered (jit.zone), as a stack of names.
**
** On the thread that runs the VM, inside the allocator too: the VM's stack is
** not touched, no memory of the VM is taken, no error is raised.
*/
#ifndef MP_ZONE_H
#define MP_ZONE_H

#include <stdint.h>

#include "data/stacks.h"

#include "lua.h"

/* The stack of the zones in jit.zone's table, which is in slot 1 of a
** coroutine that never runs. 0: in none. MP_NONE: no memory. */
uint32_t mp_zone_read(mp_stacks *zones, lua_State *anchor);

/* The same, where the VM's thread may have been interrupted while it changes
** that table, of which the layout is known. MP_NONE: they are not known.
** Async-signal-safe. */
uint32_t mp_zone_peek(mp_stacks *zones, const void *table);

#endif
