/* SPDX-License-Identifier: MIT */
/*
** All paths that lead from the roots of the VM to an object and pass no object
** twice, the shortest ones first. A path begins at the last object that the VM
** itself holds, such as the globals or a coroutine that runs.
*/
#ifndef MP_HEAPPATHS_H
#define MP_HEAPPATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "lua.h"

typedef struct mp_heappath {
  char *name;			/* From malloc. */
  uint32_t length;		/* References that it consists of. */
} mp_heappath;

typedef struct mp_heappaths {
  const char *why;		/* Why there is no answer; or NULL. */
  char *what;			/* Name of the object. */
  bool complete;		/* These are all paths that there are. */
  mp_heappath *list;
  uint32_t nlist, caplist;
} mp_heappaths;

/* Finds at most `most` paths to the object in the slot `index` of L's running
** C function, whose own slots do not count. The program stands still. NULL: no
** memory. */
mp_heappaths *mp_heappaths_find(lua_State *L, int index, uint32_t most);
void mp_heappaths_free(mp_heappaths *w);

/* Pushes them as a table. Raises Lua errors: out of memory. */
void mp_heappaths_push(lua_State *L, const mp_heappaths *w);

#endif
