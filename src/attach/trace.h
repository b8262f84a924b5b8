/* SPDX-License-Identifier: MIT */
/*
** A trace of another process: a copy of the compiler's data.
*/
#ifndef MP_ATTACH_TRACE_H
#define MP_ATTACH_TRACE_H

#include "attach/find.h"

typedef struct mp_far_trace {
  uint64_t address;		/* Of the trace; 0: none. */
  uint64_t mcode;		/* Its machine code, */
  uint32_t size;		/* bytes of that; */
  uint32_t loop;		/* where its loop is in that, or 0. */
  uint32_t nins, nk;		/* Instructions: one behind the last, and the */
  char *ir;			/* lowest constant, with which `ir` begins. */
  uint32_t nsnap;
  char *snaps;
  uint32_t nmap;
  uint32_t *map;
  uint64_t link;		/* Machine code of the root trace it ends in; */
				/* 0: it does not. */
} mp_far_trace;

/* A value that each round of a loop hands to the next one. */
typedef struct mp_far_value {
  uint8_t from;			/* Its register when a round ends, */
  uint8_t reg;			/* and when the next one has begun, */
  uint8_t spill;		/* or its place in the stack, if not 0. */
  bool narrow;			/* It has 32 bits. */
} mp_far_value;
#define MP_FAR_VALUES 32

/* Reads the trace that runs in a state and whose machine code contains ip, if
** ip is not 0. False: there is none, or it cannot be read. The trace must be
** freed even after a failure. */
bool mp_far_trace_read(mp_far_trace *t, const mp_maps *m,
		       const mp_found *state, uint64_t ip);
void mp_far_trace_free(mp_far_trace *t);

/* Whether the Lua stack has everything that is needed to leave the trace by its
** first exit, before its code has done anything. */
bool mp_far_trace_begins(const mp_far_trace *t);

/* The exit by which the trace can be left at the beginning of its loop, once
** these values are in their places; 0: by none. */
uint32_t mp_far_trace_loops(const mp_far_trace *t,
			    mp_far_value list[MP_FAR_VALUES], int *n);

/* Whether the exit leads back to the instruction that its guards belong to. It
** does not where a guard compares: its exit is the other way. */
bool mp_far_trace_repeats(const mp_far_trace *t, uint32_t exit);

#endif
