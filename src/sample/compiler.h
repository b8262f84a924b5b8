/* SPDX-License-Identifier: MIT */
/*
** The decisions of the JIT compiler: the traces that it makes and gives up.
**
** LuaJIT tells them by the event "trace" of jit.attach, which has one handler.
** Where the program has one, or jit.attach is not LuaJIT's, the VM's tables
** tell less: the reasons of the last 64 starts given up, and the traces that
** there are at a moment.
*/
#ifndef MP_COMPILER_H
#define MP_COMPILER_H

#include "sample/decided.h"

/* Begins: before the CPU sampler does, whose start throws traces and penalties
** away; and after the heap's hook is in place, which sees prototypes go. The
** owner has set capture and cpu. No memory: nothing is recorded. */
void mp_compiler_prepare(mp_compiler *c);
void mp_compiler_start(mp_compiler *c, lua_State *L);

/* Ends recording; before the CPU sampler ends. */
void mp_compiler_stop(mp_compiler *c, lua_State *L);

/* Looks at the VM, and reads its traces, if it is time for that. At a
** safepoint. */
void mp_compiler_look(mp_compiler *c);

#define MP_COMPILER_LOOKS 0.1	/* Seconds between looks. */

/* Seconds until the traces are read again: the more there are, the more seldom,
** so that a second has at most so many times as many readings of one. */
static inline double mp_compiler_reads(uint32_t traces)
{
  return MP_COMPILER_LOOKS * (1 + traces / 2000);
}

/* Reads all that there is to read, for a report, if the VM is at rest. */
void mp_compiler_take(mp_compiler *c);

/* In the child of a fork: forgets what was counted. */
void mp_compiler_restart(mp_compiler *c);

void mp_compiler_free(mp_compiler *c);

#endif
