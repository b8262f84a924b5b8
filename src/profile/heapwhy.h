/* SPDX-License-Identifier: MIT */
/*
** Why one object is alive: all references to it, each with the shortest path
** that leads there.
*/
#ifndef MP_HEAPWHY_H
#define MP_HEAPWHY_H

#include <stdbool.h>
#include <stdint.h>

#include "lua.h"

/* One object that refers to it. */
typedef struct mp_reference {
  char *path;			/* From a root of the VM to the object; */
				/* NULL: only through the object itself. */
  char *from;			/* What refers to it; NULL: the VM. */
  uint32_t distance;		/* References that the path consists of. */
  uint32_t count;		/* References from there. */
} mp_reference;

typedef struct mp_heapwhy {
  const char *why;		/* Why there is nothing more; or NULL. */
  char *what;			/* What it is. */
  char *holder;			/* Path of what holds it; NULL: the VM. */
  bool held;			/* Something holds it. */
  uint64_t self, bytes;		/* Its own, and with all that it holds. */
  mp_reference *list;		/* The shortest paths first. */
  uint32_t nlist, caplist;
} mp_heapwhy;

/* Looks at the object in the slot `index` of L's running C function, whose own
** slots do not count. The program stands still. NULL: no memory. */
mp_heapwhy *mp_heapwhy_ask(lua_State *L, int index);
void mp_heapwhy_free(mp_heapwhy *w);

/* Pushes it as a table, with at most so many references. Raises Lua errors:
** out of memory. */
void mp_heapwhy_push(lua_State *L, const mp_heapwhy *w, uint32_t most);

#endif
