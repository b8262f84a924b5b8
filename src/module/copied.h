/* SPDX-License-Identifier: MIT */
/*
** What luajit-mp attach --outside uses of this module in the command itself:
** the module for the kind of LuaJIT that the other process has.
*/
#ifndef MP_MODULECOPIED_H
#define MP_MODULECOPIED_H

#include <sys/types.h>

#include "heapwalk/copied.h"

#include "lua.h"

#define MP_ATTACH_COPIED "mp_attach_copied"

typedef struct mp_attach_copied_walk {
  double share;			/* The part of all bytes from which on an */
				/* object has a line of its own. */
  bool file;			/* The text of a .heapsnapshot, too. */
} mp_attach_copied_walk;

/* A walk that is made by a child. */
typedef struct mp_attach_copied_calls {
  /* Makes the memory where it will be, and so many bytes more for the text of a
  ** file. NULL: there is none. */
  void *(*open)(size_t more);
  /* In the child, which has the copy: walks, and ends. */
  void (*walk)(void *walk, pid_t parent, const mp_copied *copied,
	       const mp_attach_copied_walk *request);
  /* Once the child has ended: NULL, or why there is none. seconds: how long the
  ** process stood still. */
  const char *(*why)(void *walk, double seconds);
  /* Pushes it as a table. Raises Lua errors. */
  void (*push)(lua_State *L, void *walk);
  void (*release)(void *walk);
} mp_attach_copied_calls;

extern const mp_attach_copied_calls mp_attach_copied;

#endif
