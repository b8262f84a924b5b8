/*
** A stack to look at: the frames of a place (vm/where.h), verified one by one.
**
** Inside compiled code the frames above the trace's base are not on the Lua
** stack: the trace's snapshot tells what they would be. They are laid out in
** a copy of the lower frames, under a thread and a C frame made up for the
** purpose. The VM's own memory is never written to.
**
** A view is large, belongs to one context, and is used by one thread at a
** time; what it shows holds until the VM goes on.
*/
#ifndef MP_VIEW_H
#define MP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/where.h"

/* One frame as it was verified, enough to recognise it and to name it. */
typedef struct mp_vmframe {
  const char *proto;		/* GCproto of a Lua function, or NULL. */
  uint64_t func;		/* Identity of the function. */
  uint64_t pc;			/* Where it is, or 0: not known. */
  uint64_t site;		/* Where it was called from. */
  bool called;			/* By a Lua call: the frame below has its PC. */
} mp_vmframe;

#define MP_VIEW_SLOTS	40000	/* Of the copied stack. */
#define MP_VIEW_FUNCS	64

typedef struct mp_view {
  lua_State *L;			/* To be looked at: a real one, or `thread`. */
  uint64_t thread[(L_SIZE + L_EXTRA) / 8];
  _Alignas(16) uint64_t cframe[CF_SIZE / 8];
  uint64_t funcs[MP_VIEW_FUNCS][6];  /* Stand-ins for functions not known. */
  int nfuncs;
  uint64_t stack[MP_VIEW_SLOTS];
} mp_view;

/* Verifies the frames, top first, into f[MP_DEPTH]; *more tells whether there
** are others below. Returns their number, or -1: the stack cannot be read. */
int mp_view_frames(mp_view *v, const mp_vm *vm, mp_where *w, mp_vmframe *f,
		   bool *more);

/* luaJIT_profile_dumpstack over the frames that mp_view_frames verified. The
** caller holds the dump lock (sample/capture.h). */
const char *mp_view_dump(const mp_view *v, const char *fmt, int depth,
			 size_t *len);

#endif
