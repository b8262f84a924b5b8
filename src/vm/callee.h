/* SPDX-License-Identifier: MIT */
/*
** The C function that a signal has interrupted: a builtin, or one of a module.
** Or the host program's, while it has called no Lua function.
**
** LuaJIT takes samples between instructions, when that function has returned
** and its frame is gone, or calls back. What the stack had above the Lua
** function that called it is noted in the signal's handler, and found again at
** the safepoint that follows, if that function is still there: no other can
** have been entered in its place, as that takes an instruction.
*/
#ifndef MP_CALLEE_H
#define MP_CALLEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/vm.h"
#include "vm/where.h"

#include "lua.h"

/* Functions noted: the one that runs, and those through which Lua code has
** called it, as pcall(string.rep, ...) does. */
#define MP_CALLEE_MAX	4

typedef struct mp_calleeframe {
  const void *cfunc;		/* The C function. */
  uint64_t builtin;		/* The number of a builtin, or 0. */
  uint64_t link;		/* Of its frame; the lowest frame's leads to */
  uint64_t contpc;		/* a Lua function, where this is the PC if a */
  uint64_t cont;		/* metamethod was called, for this. */
} mp_calleeframe;

/* Two of them that are equal are so byte by byte. */
typedef struct mp_callee {
  const void *L;		/* The thread. */
  uint64_t at;			/* Slot of the lowest frame's link. */
  uint64_t n;			/* Number of frames; 0: the host program's. */
  mp_calleeframe frames[MP_CALLEE_MAX];  /* The top one is first. */
  uint64_t strict;		/* True only if it returns at once. */
} mp_callee;

/* In a signal's handler, in the thread that runs the VM; context: the
** handler's. Async-signal-safe; whatever the VM is doing, it only reads. False:
** not known, or the VM is not going to have a safepoint. */
bool mp_callee_interrupted(const mp_vm *vm, const void *context, mp_callee *c);

/* Of one with frames, at a safepoint of w->L, which is at w: sets w to the
** function that called them, at the call. False: it is not known to be the
** one. */
bool mp_callee_find(const mp_callee *c, mp_where *w);

#endif
