/* SPDX-License-Identifier: MIT */
/*
** The heap of another process, copied to the addresses that it has there.
**
** Nothing is known of the LuaJIT there but what its memory shows, and nothing
** of that can be believed: it may change while it is copied, or lie. So the
** layout is found in the copy, and what is found is a heap only if each object
** fits its block of memory, the blocks fit into what was copied, each reference
** from an object that is reached leads to one, and the strings are as many as
** the VM counts. A copy that is no heap may crash the process that reads it, or
** keep it busy for long, so that only a child should read one.
*/
#ifndef MP_COPIED_H
#define MP_COPIED_H

#include <stdbool.h>
#include <stdint.h>

#include "heapwalk/graph.h"
#include "heapwalk/heap.h"
#include "vm/arena.h"

/* The process, as far as it has been seen; addresses are those there. */
typedef struct mp_copied {
  uint64_t mainl, g;		/* Main thread and global state. */
  uint64_t running;		/* Where that refers to the running thread. */
  uint64_t vmstate;
  uint64_t allocf;		/* The VM's allocator. */
  bool variant;			/* A variant's (vm/variant.h). */
  uint64_t base;		/* Of the running function, or 0: it is in */
				/* the memory, and so is all below: */
  uint64_t pc;			/* where that function goes on, or 0; */
  uint32_t slots;		/* what it may use from its base on, or 0. */
  uint64_t bytes;		/* That were copied. */
} mp_copied;

/* Finds the layout, and what the VM's allocator has, and writes to the copy
** what the thread had in registers. Returns NULL, or a reason: a static
** string. */
const char *mp_copied_open(const mp_copied *c, mp_heaplayout *layout,
			   mp_arena *a);

/* Finds all objects, each in a block of its size. The same; mp_heap_close must
** be called even after a failure. */
const char *mp_copied_find(mp_heap *h, const mp_copied *c,
			   const mp_heaplayout *layout);

/* Proves that the heap is one. g: dominated. The same. */
const char *mp_copied_check(mp_heap *h, const mp_graph *g);

/* The reason of a heap that was being changed, perhaps: another copy may do. */
extern const char mp_copied_changing[];

#endif
