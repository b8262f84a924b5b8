/* SPDX-License-Identifier: MIT */
/*
** Snapshots of a trace: what the interpreter would have to know at a place in
** the machine code, which are the frames above the trace's base and the PC.
**
** Which snapshot belongs to a place is answered here: the last one before it
** need not be that of the instruction.
** - Behind a check for the profiler the snapshot may have been dropped.
** - An allocation is known by the address that it returns to. Where nothing
**   between two snapshots of a loop can leave the trace, the later one is
**   dropped. But the calls of one function stand in the order of the program in
**   the part that comes before the loop, which has all its snapshots, and again
**   in the loop.
** - The allocation of an object that the compiler sank is put off until a trace
**   is left. There the VM, or the side trace that continues, makes those that
**   are needed. They belong to the line on which the program allocates them,
**   which a snapshot before the sunk instruction tells, and not to the line
**   where the trace is left.
**
** A trace is known by the address of its GCtrace. These functions only read, on
** the thread that runs the VM, inside the allocator too. Async-signal-safe.
*/
#ifndef MP_SNAP_H
#define MP_SNAP_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"

/* The kinds of functions of LuaJIT that compiled code calls. */
typedef enum mp_maker {
  MP_MAKER_TABLE,		/* Makes a table of given sizes, */
  MP_MAKER_COPY,		/* a copy of a table with constants, */
  MP_MAKER_CDATA,		/* an object of the FFI; */
  MP_MAKER_OTHER,		/* something else; or */
  MP_MAKER_UNKNOWN		/* it is not known what. */
} mp_maker;

/* Facts that a private state has shown (vm/learn.h). Zero or NULL: not
** known. */
typedef struct mp_snap_facts {
  const void *makers[MP_MAKER_OTHER];  /* The functions that make these. */
  uint32_t exit;		/* From the pointer to the array of traces to */
				/* the numbers of the trace and the exit by */
				/* which compiled code was left. */
} mp_snap_facts;

/* Keeps these facts: once in a process, before other functions need them. */
void mp_snap_learned(const mp_snap_facts *facts);

/* Whether a trace's snapshots are laid out as these functions expect. Older
** versions do not tell where a snapshot is in the machine code. */
bool mp_snap_proves(const char *trace);

/* The snapshot of an exit of that number, which must be one. */
const char *mp_snap_get(const char *trace, uint32_t n);

/* The distance of a snapshot's place from the start of the machine code. */
uint64_t mp_snap_offset(const char *snap);

/* Whether the code between a snapshot and the next one checks for the profiler,
** and the snapshot is not itself one that a check has made. */
bool mp_snap_checks(const char *trace, const char *snap);

/* The entries of a snapshot. */
const uint32_t *mp_snap_entries(const char *trace, const char *snap);

/* The end of all that belongs to its entries. */
const uint32_t *mp_snap_end(const char *trace, const char *snap);

/* Address of a snapshot's instruction, and the distance in slots from the
** trace's base to the snapshot's. */
uint64_t mp_snap_pc(const char *trace, const char *snap, uint32_t *baseofs);

/* A place on a trace by a snapshot, which is NULL if none is known. */
typedef struct mp_snap {
  const char *trace;		/* That the snapshot belongs to. */
  const char *snap;
  bool next;			/* The place comes before it. */
} mp_snap;

/* The place at which a trace has called a C function, which returns to `addr`.
** Where a side trace makes an object that the compiler sank, the place is on
** the trace that it has left. NULL: that is ambiguous. */
mp_snap mp_snap_call(const mp_vm *vm, const char *trace, uint64_t addr);

/* The place at which a tick has interrupted a trace, at that address. base: the
** distance from mp_machine_global to the word that has the trace's base. Where
** the thread has gone on to the next trace, the place is on that one. */
mp_snap mp_snap_interrupted(const mp_vm *vm, const char *trace, uint64_t addr,
			    int32_t base);

/* The place while a trace is being left, and the VM makes the objects that the
** compiler sank: that of the instruction whose object it is making, or else
** that of the exit. pc: the exit's, which the VM has just saved, or the one
** behind it. cframe: the C frame that ran the trace. *base: the thread's, which
** becomes the trace's. NULL: not found. */
mp_snap mp_snap_exit(mp_vm *vm, lua_State *L, uint64_t pc, const char *cframe,
		     uint64_t **base);

/* The exit itself, with its numbers at that distance from the array of traces.
** NULL: not found, so that the numbers are not there. */
mp_snap mp_snap_exited(mp_vm *vm, uint32_t ofs, uint64_t pc);

#endif
