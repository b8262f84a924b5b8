/* SPDX-License-Identifier: MIT */
/*
** The stack of a coroutine that waits, or that runs in a thread which sleeps,
** read by another thread.
**
** All of it is read with the kernel's help, and read again afterwards: what has
** changed meanwhile is not a stack. The frames have the addresses of prototypes
** and C functions, which the thread of the VM can name as long as these have
** not been freed.
*/
#ifndef MP_PARKED_H
#define MP_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"
#include "vm/where.h"

#include "lua.h"

#define MP_PARKED_FRAMES 32	/* Kept of a stack, from the top. */
#define MP_PARKED_SLOTS	2048	/* That these take, at most. */

typedef struct mp_parkedframe {
  const void *code;		/* The prototype, or the C function. */
  uint64_t link;		/* As it stands on the stack, with the PC */
  uint64_t contpc, cont;	/* below a metamethod, and what called it. */
  uint32_t below;		/* Slots to the link of the frame below. */
  uint32_t ffid;		/* 0: a Lua function. */
} mp_parkedframe;

/* Where one that runs is in its top function; all 0: it has yielded. */
typedef struct mp_parkedat {
  uint64_t pc;			/* Of the function, or where the trace goes */
				/* on; 0: not known. */
  uint32_t trace;		/* The number of the trace, or 0. */
  bool compiled;		/* It runs one. */
} mp_parkedat;

typedef struct mp_parked {
  uint32_t n;			/* Frames, the top one first. */
  bool cut;			/* There are more. */
  mp_parkedat at;
  mp_parkedframe frames[MP_PARKED_FRAMES];
} mp_parked;

/* Whether what is read below is where it should be, on the VM of L, which was
** proved otherwise. Raises Lua errors: out of memory. */
bool mp_parked_prove(const mp_vm *vm, lua_State *L);

/* In any thread: reads the stack of a coroutine that waits: it has yielded, or
** has called a C function that went on on another C stack, as in hosts whose
** fibers have such stacks with a guard page. sp: the stack pointer of the VM's
** thread if it sleeps, or 0. False: it does not wait, is garbage or gone, or
** has changed meanwhile. */
bool mp_parked_read(const mp_vm *vm, const lua_State *L, uintptr_t sp,
		    mp_parked *p);

/* Whether a C function is on top. */
bool mp_parked_inc(const mp_parked *p);

/* The same of the coroutine that runs, while the thread of the VM sleeps: who
** calls finds out whether it still does. vm: a copy of its own. Returns that
** coroutine; NULL: no Lua function is on the thread's stack. p->n is 0 where
** its frames cannot be read. */
const lua_State *mp_parked_running(mp_vm *vm, mp_parked *p);

/* Whether that coroutine, which has been entered, runs on the C stack that has
** this stack pointer. */
bool mp_parked_ison(const lua_State *L, uintptr_t sp);

/* In any thread: whether jit.zone's table has a zone that is open. */
bool mp_parked_zone(const void *zonetable);

/* A stack made up of such frames, with room above for those of a trace. */
typedef struct mp_parkedview {
  uint64_t thread[(L_SIZE + L_EXTRA) / 8];
  _Alignas(16) uint64_t cframe[CF_SIZE / 8];
  uint64_t funcs[MP_PARKED_FRAMES][6];
  uint64_t stack[MP_PARKED_SLOTS + 256];
} mp_parkedview;

/* In the thread of the VM, which has freed none of the code: the place for a
** capture. */
void mp_parked_show(mp_parkedview *v, mp_vm *vm, const mp_parkedframe *f,
		    uint32_t n, const mp_parkedat *at, mp_where *w);

#endif
