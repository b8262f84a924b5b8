/* SPDX-License-Identifier: MIT */
/*
** The copy of a stack that is looked at where the stack itself does not tell:
** a thread and a C frame made up for the purpose, and, inside compiled code,
** the frames around the base of the trace, under those that its snapshot lists.
** Everything is written into the copy, nothing into what is the VM's.
*/
#ifndef MP_COPY_H
#define MP_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/where.h"

#define MP_COPY_SLOTS	40000	/* Of the copied stack. */
#define MP_COPY_FUNCS	64

typedef struct mp_copy {
  lua_State *L;			/* To be looked at: a real one, or `thread`. */
  lua_State *real;		/* The real one. */
  uint64_t *base;		/* Of its top frame on the stack. */
  uint64_t *vbase;		/* The same place in the copy; NULL: no copy. */
  uint64_t *vtop;		/* Base of the top frame in the copy. */
  uint64_t thread[(L_SIZE + L_EXTRA) / 8];
  _Alignas(16) uint64_t cframe[CF_SIZE / 8];
  uint64_t funcs[MP_COPY_FUNCS][6];  /* Stand-ins for functions not known. */
  int nfuncs;
  uint64_t stack[MP_COPY_SLOTS];
} mp_copy;

/* Makes a copy of a thread, with its C frame, and with that PC; 0: not
** known. */
void mp_copy_thread(mp_copy *c, lua_State *L, const char *cframe, uint64_t pc);

/* Prepares the copy for a place on a trace. Where the trace's frames cannot be
** had, the copy has the frames from the trace's base on. False: no room. */
bool mp_copy_trace(mp_copy *c, const mp_vm *vm, const mp_where *w);

/* The made-up thread gets the copied stack, or the real one. */
void mp_copy_look(mp_copy *c, bool copied);

#endif
