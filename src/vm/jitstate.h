/* SPDX-License-Identifier: MIT */
/*
** The state of the JIT compiler: its parameters, the starts of traces that it
** has given up, and its traces.
**
** Where LuaJIT keeps these is shown by a private state of our own, in which the
** compiler gives up known loops and compiles others. What it does not show is
** not used. All functions but mp_jitstate_learn only read, on the thread that
** runs the VM; its layout is proved.
*/
#ifndef MP_JITSTATE_H
#define MP_JITSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/vm.h"

/* Learns, once in a process. Opens a state and runs Lua code. From any thread;
** not inside an allocator. */
void mp_jitstate_learn(void);

/* Whether that has shown the table of penalties, and the traces' fields. */
bool mp_jitstate_penalties(void);
bool mp_jitstate_traces(void);

/* Numbers by which LuaJIT's names of reasons can be told from those of another
** build: an instruction that is not compiled, and a function for which the
** compiler is off. 0: not known. */
void mp_jitstate_reasons(int *bytecode, int *off);

/* The parameters of -O: names, and values in the VM. */
#define MP_JIT_PARAMS	14
const char *mp_jitstate_param(const mp_vm *vm, int i, int32_t *value);

/* Starts of traces that were given up. */
typedef struct mp_penalty {
  uint64_t pc;			/* The instruction; 0: none. */
  uint16_t value, reason;
} mp_penalty;

#define MP_PENALTIES	64

/* Those that were read, and those of prototypes that were freed since: others
** may lie where these were. */
typedef struct mp_penalties {
  mp_penalty list[MP_PENALTIES];
  mp_penalty dead[MP_PENALTIES];
  uint32_t ndead;
  uint64_t low, high;		/* All of the list lie from low to high. */
  bool live;			/* The list is read again later. */
} mp_penalties;

/* Reads the list. It may have starts in prototypes that were freed before. */
void mp_jitstate_read(const mp_vm *vm, mp_penalties *p);

/* Reads a list without those in prototypes that were freed since. */
void mp_jitstate_read_alive(const mp_vm *vm, const mp_penalties *p,
			    mp_penalty list[MP_PENALTIES]);

/* A block of that size, which may be a prototype, is being freed. */
void mp_jitstate_freed(const mp_vm *vm, mp_penalties *p, const void *block,
		       size_t size);

/* A trace. */
typedef struct mp_jittrace {
  uint32_t number;
  uint32_t root, parent, exit;	/* Of a side trace; else 0. */
  uint32_t link;		/* The trace that follows, or 0. */
  const char *ends;		/* How it ends, as jit.util says it. */
  const char *proto;		/* The prototype where it begins. */
  uint32_t pos;			/* The instruction where it begins. */
  uint32_t instructions;	/* Of the compiler's code. */
  uint32_t bytes;		/* Of machine code. */
  uint32_t exits;		/* Exits that it has; */
  uint32_t taken;		/* how often those without a side trace were */
				/* taken, as far as LuaJIT counts; */
  uint32_t worst;		/* the one of these that was taken most, */
  uint32_t times;		/* so often. */
} mp_jittrace;

/* Fills in *t. False: there is no trace of that number. */
bool mp_jitstate_trace(mp_vm *vm, uint32_t number, mp_jittrace *t);

/* Whether there is a prototype at that address, by all that can be seen. */
bool mp_jitstate_alive(const char *proto);

/* The line of a prototype's instruction; 0: not known. */
int mp_jitstate_line(const char *proto, uint32_t pos);

/* The number of an instruction of the prototype. False: it is not in it. */
bool mp_jitstate_pos(const char *proto, uint64_t pc, uint32_t *pos);

/* Whether a trace may start at an instruction. */
bool mp_jitstate_starts(const char *proto, uint32_t pos);

/* Whether jit.off was called for a prototype. False: or that is not known. */
bool mp_jitstate_off(const char *proto);

/* The next start, from the one at *pos on, that is given up for good. False:
** there are no more. *loop: a loop begins there, not a function. */
bool mp_jitstate_blacklisted(const char *proto, uint32_t *pos, bool *loop);

#endif
