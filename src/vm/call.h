/* SPDX-License-Identifier: MIT */
/*
** Calls of C functions in the machine code of a trace.
**
** An allocation is known by the address that it returns to. The last snapshot
** before that address need not belong to the instruction: where nothing between
** two snapshots of a loop can leave the trace, the later one is dropped. But
** the calls of one function stand in the order of the program in the part that
** comes before the loop, which has all its snapshots, and again in the loop.
**
** On the thread that runs the VM, inside the allocator: everything only reads.
*/
#ifndef MP_CALL_H
#define MP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/snap.h"

#define MP_CALL_NONE UINT32_MAX

/* Whether the instruction before `addr` calls a function at a distance. */
bool mp_call_returns(const char *trace, uint64_t addr);

/* The function that is called there; NULL: that is not such a call. */
const void *mp_call_target(const char *trace, uint64_t addr);

/* The number of calls in the machine code that come before the one that returns
** to `addr` and call the same function. MP_CALL_NONE: that is not a call, or
** one that cannot be told from others. */
uint32_t mp_call_index(const char *trace, uint64_t addr);

/* The snapshot of the instruction that calls a C function, which returns to
** `addr`; NULL: none can be told from the others. */
mp_snap mp_call_snap(const char *trace, uint64_t addr);

#endif
