/* SPDX-License-Identifier: MIT */
/*
** A drawing of the objects that a value refers to, for Graphviz.
*/
#ifndef MP_HEAPDOT_H
#define MP_HEAPDOT_H

#include <stddef.h>

#include "heapwalk/heap.h"

/* The text, from malloc: the object in that slot of L's running C function,
** and the objects that can be reached from it by `depth` references, at most
** MP_DOT_NODES of them. NULL: *why says why. */
#define MP_DOT_NODES	1000
char *mp_heapdot_make(lua_State *L, int index, unsigned depth, size_t *len,
		      const char **why);

#endif
