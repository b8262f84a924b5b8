/* SPDX-License-Identifier: MIT */
/*
** The Lua states of another process, found in its memory by their shape.
**
** Nothing in a process tells where its states are. But a main thread and the
** global state behind it lie in one block and refer to each other and to the
** allocator, and nothing else has that shape.
**
** The functions are for one kind of builds: see attach/kind.h.
*/
#ifndef MP_FIND_H
#define MP_FIND_H

#include "attach/maps.h"

#ifdef MP_REFS32
#define mp_find_states mp_find_states_refs32
#define mp_find_resting mp_find_resting_refs32
#define mp_find_cframe mp_find_cframe_refs32
#define mp_find_text	mp_find_text_refs32
#define mp_find_chunkname mp_find_chunkname_refs32
#endif

#define MP_STATES_MAX	64	/* More are not listed. */

typedef struct mp_found {
  uint64_t mainl, g;		/* Main thread and global state. */
  uint64_t vmstate;		/* Where the VM's state is noted. */
  bool variant;			/* A variant's (vm/variant.h). */
  uint64_t allocf;		/* The VM's allocator. */
  uint64_t bytes;		/* Bytes in the VM's heap. */
  uint64_t cframe;		/* The main thread's C frame, or 0. */
  char chunk[128];		/* That of the lowest function, or "". */
} mp_found;

/* Finds the states but those with that allocator, which are the profiler's.
** Returns their number, of which those from MP_STATES_MAX on are not in the
** list. Pages that are swapped out are read only if no state is elsewhere.
** The search stops once *end is set. */
int mp_find_states(const mp_maps *m, uint64_t own, mp_found *list,
		   const volatile int *end);

/* The Lua thread of a state that can be used while the thread of the process
** whose stack is at sp stands still; 0: there is none.
**
** That Lua thread runs a C function that the interpreter has called, and the
** stack at sp has no frame of the object `vm` from the frame of that function
** on; link: where a function returns to that has not saved it, or 0. If no Lua
** function runs at all, the result is the main thread and *idle is set: that
** thread can be used if no other thread of the process can be in the VM. */
uint64_t mp_find_resting(const mp_maps *m, const mp_found *state,
			 const mp_mapping *vm, uint64_t sp, uint64_t link,
			 bool *idle);

/* The text of a string, or its beginning. False: it is none, or has a zero. */
bool mp_find_text(pid_t pid, uint64_t str, char *to, size_t n);

/* The chunk name of a prototype, or its beginning. */
bool mp_find_chunkname(pid_t pid, uint64_t proto, char *to, size_t n);

/* The main thread's C frame now, or 0. */
uint64_t mp_find_cframe(pid_t pid, const mp_found *state);

/* Whether compiled code runs, or a function that it has called. Then the VM's
** state is the trace's number, or 0 where code does not note it. */
static inline bool mp_find_compiled(pid_t pid, const mp_found *state)
{
  int32_t vmstate = 0;
  mp_remote_read(pid, &vmstate, state->vmstate, sizeof(vmstate));
  return vmstate >= 0;
}

#endif
