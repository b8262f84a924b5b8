/* SPDX-License-Identifier: MIT */
/*
** Snapshots of a trace: what the interpreter would have to know at a place in
** the machine code, which are the frames above the trace's base and the PC.
**
** A trace is known by the address of its GCtrace. These functions only read, on
** the thread that runs the VM.
*/
#ifndef MP_SNAP_H
#define MP_SNAP_H

#include <stdbool.h>
#include <stdint.h>

/* The snapshot of an exit of that number, which must be one. */
const char *mp_snap_get(const char *trace, uint32_t n);

/* The distance of a snapshot's place from the start of the machine code. */
uint64_t mp_snap_offset(const char *snap);

/* The entries of a snapshot. */
const uint32_t *mp_snap_entries(const char *trace, const char *snap);

/* Address of a snapshot's instruction, and the distance in slots from the
** trace's base to the snapshot's. */
uint64_t mp_snap_pc(const char *trace, const char *snap, uint32_t *baseofs);

/* A place in the machine code by a snapshot, which is NULL if none is known. */
typedef struct mp_snap {
  const char *snap;
  bool next;			/* The place comes before it. */
} mp_snap;

/* The snapshot of an address in the machine code: the last one at or before it,
** unless the program has gone on in another function or line since. */
mp_snap mp_snap_at(const char *trace, uint64_t addr);

/* The same where a tick has interrupted the code. base: the distance from
** mp_machine_global to the word that has the trace's base. NULL: the thread has
** gone on to the next trace. */
mp_snap mp_snap_interrupted(const char *trace, uint64_t addr, int32_t base);

/* The last snapshot at or before an instruction; the first if there is none. */
const char *mp_snap_of(const char *trace, uint32_t ref);

#endif
