/* SPDX-License-Identifier: MIT */
/*
** A view of a stack: the frames of a place (vm/where.h), verified one by one.
**
** Inside compiled code the frames above the trace's base are not on the Lua
** stack, but the trace's snapshot describes them. They are laid out in a copy
** of the frames around the base, under a thread and a C frame made up for the
** purpose. The VM's own memory is never written to.
**
** A view belongs to one context, and is used by one thread at a time, also
** inside the allocator. Its memory comes from malloc; if that fails, the stack
** is cut. A view is valid until the VM continues.
*/
#ifndef MP_VIEW_H
#define MP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/copy.h"
#include "vm/where.h"

/* One frame as it was verified, enough to recognise it and to name it. */
typedef struct mp_vmframe {
  const char *proto;		/* GCproto of a Lua function, or NULL. */
  const void *cfunc;		/* The C function, where proto is NULL. */
  uint8_t builtin;		/* The number of a builtin, or 0. */
  bool called;			/* By a Lua call: the frame below has its PC. */
  bool from_c;			/* Called by C code, as a finalizer or hook. */
  bool copied;			/* It lies in the copy. */
  int32_t level;		/* Its level in the walk, or -1. */
  uint64_t func;		/* Equal for equal functions. */
  uint64_t pc;			/* PC in the function; 0: not known. */
  uint64_t site;		/* PC of the call in the caller. */
  const uint64_t *at;		/* The frame's link. */
  const uint64_t *next;		/* The link of the frame above; NULL: the */
				/* top. */
  uint32_t id;			/* The user's. */
} mp_vmframe;

typedef struct mp_view {
  mp_copy copy;			/* Of the stack, or the stack itself. */
  mp_vmframe *frames;		/* The frames that were verified, top first. */
  uint32_t capframes;
} mp_view;

/* A view that was filled with zeros is an empty one. */
void mp_view_free(mp_view *v);

/* Verifies the frames into v->frames, top first, down to a frame for which the
** walk knows the stack below; *below is that stack, or 0. Returns the number of
** frames, or -1: the stack cannot be read. *cut: there are further frames,
** which are not known. */
int mp_view_frames(mp_view *v, mp_vm *vm, const mp_walk *walk,
		   mp_where *w, uint32_t *below, bool *cut);

/* Returns the line of a verified frame (< 0: none), and in *name the VM's name
** for its function, or NULL, as from lua_getinfo. Takes no memory, raises no
** error. */
int mp_view_info(mp_view *v, const mp_vmframe *f, const char **name);

#endif
