/* SPDX-License-Identifier: MIT */
/*
** Triggers: events at which a report is written while the program goes on.
**
** Memory comes near a limit, the VM's allocator refuses memory, or the thread
** does not wait for anything for so long. The outputs with %e in their names
** get the report, with a heap walk if it is about memory, and another one of
** the last half minute. That happens in the background, unless memory is
** refused or addresses are few: then the program waits. An event is reported
** again only after its cause had gone, and so often at most.
**
** The Lua heap is looked at as often as the timeline has points, and what takes
** system calls a few times each second.
*/
#ifndef MP_TRIGGER_H
#define MP_TRIGGER_H

#include "process/ctx.h"

/* Before the samplers start, with the plan: has them look for the events that
** it asks for. */
void mp_trigger_prepare(mp_ctx *c);

/* At a safepoint of L. */
void mp_trigger_look(mp_ctx *c, lua_State *L, double wall);

#endif
