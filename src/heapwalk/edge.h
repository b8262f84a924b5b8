/* SPDX-License-Identifier: MIT */
/*
** The references between the objects of the heap: those that the collector
** follows, which do not include values or keys that a weak table lets go. To be
** used where heapwalk/heap.h can be used.
*/
#ifndef MP_HEAPEDGE_H
#define MP_HEAPEDGE_H

#include "heapwalk/graph.h"
#include "heapwalk/heap.h"

/* Kinds of references. */
typedef enum mp_how {
  MP_BY_ROOT,			/* detail: an mp_root, */
				/* | kind of value << 8, for MP_ROOT_BASEMT. */
  MP_BY_KEY,			/* Value in a hash part; detail: address of */
				/* the slot of its key. */
  MP_BY_INDEX,			/* Value in an array part; detail: index. */
  MP_BY_BEING,			/* A key in a hash part. */
  MP_BY_META, MP_BY_ENV,
  MP_BY_UPVALUE,		/* detail: its index, from 0. */
  MP_BY_VALUE,			/* The value of an upvalue. */
  MP_BY_PROTO, MP_BY_CONST, MP_BY_CHUNK,
  MP_BY_SLOT,			/* Of a stack; detail: its index, from 0. */
  MP_BY_TRACE,			/* detail: number of the trace. */
  MP_BY_BUFFER			/* Of string.buffer's. */
} mp_how;

typedef enum mp_root {
  MP_ROOT_GLOBALS, MP_ROOT_REGISTRY, MP_ROOT_MAIN, MP_ROOT_RUNNING,
  MP_ROOT_FFI, MP_ROOT_BASEMT, MP_ROOT_IO, MP_ROOT_FINALIZERS,
  MP_ROOT_FINQUEUE, MP_ROOT_VMTHREAD, MP_ROOT_NAMES, MP_ROOT_FIXED
} mp_root;

/* Receives a reference. One reference may come several times. */
typedef void mp_heap_see(void *ud, const char *to, mp_how how,
			 uint64_t detail);

/* Calls `see` for all references of an object, or for the VM's own (NULL). */
void mp_heap_edges(mp_heap *h, const char *obj, mp_heap_see *see, void *ud);

/* Finds the objects, strings and cdata aside, that are held by something other
** than stacks: references from stacks to these do not count in the graph.
** False: no memory. */
bool mp_heap_lasting(mp_heap *h);

/* Makes a graph of the objects, by their numbers, with their sizes; its root
** stands for the VM. The heap must stay open. False: no memory. */
bool mp_heap_graph(mp_heap *h, mp_graph *g);

#endif
