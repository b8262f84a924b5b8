/* SPDX-License-Identifier: MIT */
/*
** The Lua stack of another process, read from outside while the thread that
** runs the VM stands still.
**
** In the interpreter the stack's end and the place in the top function are in
** registers, and in C code they are in memory. In compiled code the stack is as
** it was where the trace began. Each frame must lead to a function that has the
** place of its call, down to the last: else the stack is not known.
**
** The functions are for one kind of builds: see attach/kind.h.
*/
#ifndef MP_STACK_H
#define MP_STACK_H

#include "attach/find.h"
#include "attach/tracee.h"

#ifdef MP_REFS32
#define mp_stack_running mp_stack_running_refs32
#define mp_stack_read	mp_stack_read_refs32
#define mp_stack_functions mp_stack_functions_refs32
#endif

#define MP_STACK_DEPTH	250	/* Frames that are read of a stack. */
#define MP_STACK_SOURCE	200	/* Bytes of a source's name, with the zero. */

typedef struct mp_far_frame {
  uint64_t code;		/* The address of a C function; 0: Lua's. */
  uint64_t object;		/* That of the C function as an object. */
  int32_t line, linedefined;	/* Less than 0: not known. */
  char source[MP_STACK_SOURCE];	/* The chunk's name, or its beginning. */
} mp_far_frame;

typedef enum mp_far_place {
  MP_FAR_IDLE,			/* No Lua function runs. */
  MP_FAR_ELSEWHERE,		/* Another thread runs the VM. */
  MP_FAR_LOST,			/* The stack is not known just here. */
  MP_FAR_FOUND
} mp_far_place;

typedef struct mp_far_stack {
  char state;			/* One of "NICGJ". */
  bool cut;			/* There were more frames. */
  bool rests;			/* A C function that the VM has called runs: */
				/* the VM's memory tells all. */
  uint64_t base, pc;		/* Of the top function; pc 0: not known. */
  uint32_t slots;		/* A Lua function's, from its base on; or 0. */
  int n;
  mp_far_frame frames[MP_STACK_DEPTH];  /* The top one first. */
} mp_far_stack;

#define MP_FUNCTIONS	4096	/* More are not listed. */

/* A C function that has a name. */
typedef struct mp_far_function {
  uint64_t object;
  bool builtin;
  char name[64];		/* As Lua code calls it: "string.format". */
} mp_far_function;

/* Where the global state refers to the running Lua thread; 0: not known. */
uint64_t mp_stack_running(pid_t pid, const mp_found *state);

/* Reads the stack of the Lua thread that is referred to there, if the thread
** that stands still runs it. */
mp_far_place mp_stack_read(const mp_maps *m, const mp_found *state,
			   uint64_t running, mp_tracee *t, mp_far_stack *s);

/* Lists the C functions among the globals, in tables that are globals, and in
** loaded modules; one may have several names. Returns their number. The process
** may run meanwhile. */
int mp_stack_functions(pid_t pid, const mp_found *state,
		       mp_far_function list[MP_FUNCTIONS]);

#endif
