/* SPDX-License-Identifier: MIT */
/*
** Objects that the compiler sank: their allocation is put off until a trace is
** left. There the VM, or the side trace that continues, makes those that are
** needed. They belong to the line on which the program allocates them, which a
** snapshot before the sunk instruction tells, and not to the line where the
** trace is left.
**
** On the thread that runs the VM, inside the allocator: nothing is written to,
** no memory is taken.
*/
#ifndef MP_SUNK_H
#define MP_SUNK_H

#include "vm/vm.h"

/* While the VM restores the state of a snapshot at an exit of *trace: returns
** the snapshot of the instruction whose object it is making, which may belong
** to another trace (*trace); or the exit's own, where it is making none.
** cframe: the C frame that runs the trace. */
const char *mp_sunk_at_exit(const mp_vm *vm, const char **trace,
			    const char *exit, const char *cframe);

/* While *trace calls the allocator at that address, before its second snapshot:
** if it is a side trace that makes a sunk object, returns the snapshot of the
** instruction, and the trace that was left (*trace); or else NULL. */
const char *mp_sunk_in_side(const mp_vm *vm, const char **trace,
			    uint64_t addr);

#endif
