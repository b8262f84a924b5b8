/* SPDX-License-Identifier: MIT */
/*
** The reasons why an object is alive: all references to it, each with the
** shortest path that leads to it.
*/
#ifndef MP_HEAPWHY_H
#define MP_HEAPWHY_H

#include <stdbool.h>
#include <stdint.h>

#include "heapwalk/graph.h"
#include "heapwalk/heap.h"

#include "lua.h"

/* An object that refers to the one asked about. */
typedef struct mp_reference {
  char *path;			/* From a root of the VM; NULL: every path */
				/* leads through the object itself. */
  char *from;			/* Name of the referring object; NULL: the */
				/* VM. */
  uint32_t distance;		/* References that the path consists of. */
  uint32_t count;		/* References from that object. */
} mp_reference;

typedef struct mp_heapwhy {
  const char *why;		/* Why there is no answer; or NULL. */
  char *what;			/* Name of the object. */
  char *holder;			/* Path of its holder; NULL: the VM. */
  bool held;			/* Something holds it. */
  uint64_t self, bytes;		/* Bytes: its own; with all that it holds. */
  mp_reference *list;		/* The shortest paths first. */
  uint32_t nlist, caplist;
} mp_heapwhy;

/* The heap, its holders, and the number of the object in the slot `index` of
** L's running C function, whose own slots count as no references. Returns why
** that cannot be; or NULL. Both are zero before, and are to be freed. */
const char *mp_heapwhy_look(mp_heap *h, mp_graph *g, lua_State *L, int index,
			    uint32_t *number);

/* Looks at the object in the slot `index` of L's running C function, whose own
** slots do not count. The program stands still. NULL: no memory. */
mp_heapwhy *mp_heapwhy_ask(lua_State *L, int index);
void mp_heapwhy_free(mp_heapwhy *w);

/* Pushes the answer as a table, with at most `most` references. Raises Lua
** errors: out of memory. */
void mp_heapwhy_push(lua_State *L, const mp_heapwhy *w, uint32_t most);

#endif
