/* SPDX-License-Identifier: MIT */
/*
** The place in compiled code where a signal has interrupted the VM.
**
** In the signal's handler, in the thread that runs the VM. Everything is
** async-signal-safe and only reads.
*/
#ifndef MP_INTERRUPT_H
#define MP_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>

#include "vm/vm.h"
#include "vm/where.h"

/* Finds out where the VM is; context: the handler's. All of w but the key is
** set, as of the last snapshot in the code. *state: the VM's, one of "NG".
** *calm: the interrupted instruction is one of compiled code, not of a C
** function that was called there, so all may be done that may be done inside
** the allocator. False: it is not compiled code, nothing is known of it, or it
** is writing half of a slot of the stack. */
bool mp_interrupt_where(mp_vm *vm, const void *context, mp_where *w,
			int *state, bool *calm);

/* Whether the interrupted instruction writes half of a value that lies within
** those bytes. Compiled code stores a constant by two such instructions, and
** between them there is no value that could be read. */
bool mp_interrupt_splits(const void *context, const void *begin, size_t size);

#endif
