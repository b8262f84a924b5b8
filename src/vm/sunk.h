/* SPDX-License-Identifier: MIT */
/*
** Objects that the compiler sank: their allocation is put off until a trace is
** left, where they are made again if they are needed, by the VM or by the side
** trace that goes on. They belong to the line that the program allocates them
** on, which a snapshot before the sunk instruction knows, and not to the line
** where the trace is left.
**
** On the thread that runs the VM, inside the allocator: nothing is written to,
** no memory is taken.
*/
#ifndef MP_SUNK_H
#define MP_SUNK_H

#include "vm/vm.h"

/* The VM restores the state of a snapshot at an exit of *trace: gives the
** snapshot of the instruction whose object it is making again, which may be
** another trace's (*trace), or the exit's own where it is making none.
** cframe: the C frame that runs the trace. */
const char *mp_sunk_at_exit(const mp_vm *vm, const char **trace,
			    const char *exit, const char *cframe);

/* *trace calls the allocator at that address, before its second snapshot. If
** it is a side trace that makes an object again, gives the snapshot of the
** instruction, and the trace that was left (*trace); or else NULL. */
const char *mp_sunk_in_side(const mp_vm *vm, const char **trace,
			    uint64_t addr);

#endif
