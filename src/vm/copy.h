/* SPDX-License-Identifier: MIT */
/*
** A copy of a stack, used where the stack itself is incomplete: a thread and a
** C frame made up for the purpose, and, inside compiled code, the frames around
** the base of the trace, below those that its snapshot lists. Everything is
** written into the copy, nothing into the VM's memory.
*/
#ifndef MP_COPY_H
#define MP_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/where.h"

#define MP_COPY_SLOTS	40000	/* Of the copied stack. */
#define MP_COPY_FUNCS	64

typedef struct mp_copy {
  lua_State *L;			/* Looked at: `real`, or `thread`. */
  lua_State *real;		/* The program's thread. */
  uint64_t *base;		/* Base of its top frame on the stack. */
  uint64_t *vbase;		/* The same place in the copy; NULL: no copy. */
  uint64_t *vtop;		/* Base of the top frame in the copy. */
  uint64_t thread[(L_SIZE + L_EXTRA) / 8];
  _Alignas(16) uint64_t cframe[CF_SIZE / 8];
  uint64_t funcs[MP_COPY_FUNCS][6];  /* Stand-ins for functions not known. */
  int nfuncs;
  uint64_t stack[MP_COPY_SLOTS];
} mp_copy;

/* Makes a copy of a thread with its C frame. pc: the PC of the copy; 0: not
** known. */
void mp_copy_thread(mp_copy *c, lua_State *L, const char *cframe, uint64_t pc);

/* Prepares the copy for a place on a trace. Where the trace's frames are not
** known, the copy has the frames from the trace's base on. False: no room. */
bool mp_copy_trace(mp_copy *c, const mp_vm *vm, const mp_where *w);

/* Prepares the copy for a place whose function has called others, with their
** frames. False: no room. */
bool mp_copy_called(mp_copy *c, const mp_where *w);

/* Gives the made-up thread the copied stack. */
void mp_copy_show_copy(mp_copy *c);

/* Gives the made-up thread the real stack. */
void mp_copy_show_stack(mp_copy *c);

#endif
