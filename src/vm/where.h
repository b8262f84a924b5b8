/* SPDX-License-Identifier: MIT */
/*
** The place of a thread: on a trace or not, and the key of its stack.
**
** For the thread that runs the VM, also inside the allocator: these functions
** do not write to the VM's memory and raise no error.
*/
#ifndef MP_WHERE_H
#define MP_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"
#include "vm/walk.h"

typedef struct mp_where {
  lua_State *L;			/* The thread. */
  const char *trace;		/* Running trace (GCtrace), or NULL. */
  const char *snap;		/* Its snapshot, once it was looked for. */
  uint64_t *base;		/* Base of the top frame, or the trace's. */
  uint64_t pc;			/* Of the top Lua function, or in the trace. */
  uint64_t key;			/* Of the stack; valid until code is freed. */
  bool lost;			/* On a trace of which nothing is known. */
  bool compiling;		/* In the JIT compiler. */
  bool returned;		/* Not the top function, but its caller. */
} mp_where;

/* Finds the place of L, which is running and at a safepoint; compiled: it came
** there from compiled code. False: there is no Lua stack to look at. */
bool mp_where_safepoint(mp_vm *vm, mp_walk *walk, lua_State *L, bool compiled,
			mp_where *w);

/* The same for the running thread, inside the allocator. w->L is NULL if the
** thread is not known. *state: the VM state as one of "NICGJ"; while the
** collector runs (G), nothing is looked at. */
bool mp_where_running(mp_vm *vm, mp_walk *walk, mp_where *w, int *state);

/* Sets the key of a place that is known otherwise. False: the stack has more
** frames than there is room for. */
bool mp_where_key(const mp_vm *vm, mp_walk *walk, mp_where *w);

/* The C frame that the top function runs in. */
const char *mp_where_cframe(const mp_where *w);

#endif
