/* SPDX-License-Identifier: MIT */
/*
** The proof of the heap's layout, on a state of its own, of the same VM: all
** kinds of objects are made there, each must have the size of its block of
** memory, and after a full collection each must be reached.
*/
#ifndef MP_HEAPPROVE_H
#define MP_HEAPPROVE_H

#include "heapwalk/heap.h"

/* The layout of this process's LuaJIT, proved the first time it is asked for.
** Any thread. */
const mp_heaplayout *mp_heap_prove(void);

/* Finds all objects of L's heap. False: no memory, or the layout is not proved;
** mp_heap_close must be called even then. */
bool mp_heap_open(mp_heap *h, lua_State *L);

#endif
