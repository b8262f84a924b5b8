/* SPDX-License-Identifier: MIT */
/*
** A walk of the heap of a process that nothing is loaded into.
**
** A child of the command copies its memory to the same addresses
** (attach/copy.h), and once more while the threads of the process are stopped;
** then the child walks it as if it were its own (heapwalk/copied.h). That is
** tried at a moment when the VM rests, or else at any, until what was copied is
** a heap.
*/
#ifndef MP_ATTACHHEAP_H
#define MP_ATTACHHEAP_H

#include "attach/outside.h"
#include "module/copied.h"

typedef struct mp_farheap {
  const mp_attach_copied_calls *calls;  /* For a walk of this kind of LuaJIT. */
  void *walk;			/* To be released by them. */
  bool compiled;		/* A trace ran. */
} mp_farheap;

/* Walks the heap of the chosen state. library: the path of the command's
** module. False, with a message. */
bool mp_outside_heap(mp_outside *o, const char *library,
		     const mp_attach_copied_walk *request,
		     const volatile int *end, mp_farheap *heap);

#endif
