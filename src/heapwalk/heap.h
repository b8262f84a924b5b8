/* SPDX-License-Identifier: MIT */
/*
** The Lua heap, read from outside: all of its objects. heapwalk/size.h has
** their sizes, heapwalk/edge.h their references.
**
** These functions only read, on the thread that runs the VM, which stands still
** meanwhile; memory comes from malloc, never from the heap that is read. The
** collector may be in any phase: objects that it has not freed yet are found
** too, and are garbage if nothing leads to them. They are not to be called
** inside the allocator, nor in a signal handler: there the VM may be changing
** an object.
**
** Objects are known by their addresses.
*/
#ifndef MP_HEAP_H
#define MP_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "data/places.h"

#include "vm/layout.h"

#include "lua.h"

/* The parts of the layout that differ from version to version. */
typedef struct mp_heaplayout {
  bool proved;
  const char *why;		/* The reason if it is not: static string. */
  uint32_t curl, jitbase, strtab, tmpbuf;	/* As in mp_vm. */
  uint32_t alloc;		/* Offset of the allocator. */
  uint32_t roots;		/* Offset of the VM's roots. */
  uint32_t len, data;		/* Offsets of a string's length and text. */
  uint32_t bufword;		/* Bytes of a word of the buffer. */
  uint32_t round;		/* A string's size is a multiple of this. */
  uint32_t mainl;		/* Distance from the main thread to the */
				/* global state. */
  uint32_t registry;		/* Offset of the registry's slot. */
  uint32_t names;		/* Names of events among the VM's roots. */
  uint32_t thread;		/* Bytes of a lua_State. */
  uint32_t state;		/* Bytes of the VM's state: all in one block. */
  uint32_t ctstate;		/* Bytes of the FFI's, without its tables. */
} mp_heaplayout;

typedef struct mp_heap {
  const mp_heaplayout *layout;
  const char *g;		/* The global state. */
  const char *mainl;		/* The main thread. */
  mp_places places;		/* All objects, numbered by address. */
  const char **traces;		/* By number of the trace, or NULL. */
  uint32_t ntraces;		/* Numbers are less than that. */
  const char **fixed;		/* Objects that are never collected. */
  uint32_t nfixed, capfixed;
  uint32_t chains, chains_used, longest;  /* Of the table of strings; the */
				/* strings of the longest one. */
  const char *modestr;		/* The string "__mode". */
  struct {
    const char *meta;		/* A metatable, */
    int weak;			/* and the references that are weak in */
				/* tables with it. */
  } modes[64];
  const char *self;		/* A thread whose slots from `hidden` on */
  const uint64_t *hidden;	/* are not the program's; or NULL. */
  const uint64_t *left;		/* The frame of the main chunk, which has */
				/* returned; or NULL. */
  uint64_t *lasting;		/* A bit by number: something other than */
				/* stacks holds it; or NULL: not known. */
  mp_map classes;		/* A metatable -> the number of its key in */
  const char **keys;		/* the registry, from 1. Found once it is */
  uint32_t nkeys, capkeys;	/* asked for. */
  bool has_classes;
  uint64_t most;		/* More objects that there may be. */
  bool endless;			/* There are more: a list has no end. */
  bool failed;			/* So it is, or there was no memory. */
} mp_heap;

/* Finds all objects of L's heap by that layout, which the proof itself need not
** have proved yet; others call mp_heap_open (heapwalk/prove.h). False: no
** memory, or more than so many objects; mp_heap_close must be called even
** then. */
bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L,
		  uint64_t most);
void mp_heap_close(mp_heap *h);

/* The object in that slot of L's running C function; NULL: the value is none.
** From then on the slots of that function count as no references. */
const char *mp_heap_argument(mp_heap *h, lua_State *L, int index);

/* Finds the variables that the main chunk had when it returned: nothing holds
** them any more, but until something else uses their slots, or a collection
** clears these, they are there. To be called while the state is closed. Then
** they count as references of the main thread's stack. */
void mp_heap_leave(mp_heap *h);

/* The name of such a variable by its slot; NULL: it was none. */
const char *mp_heap_leftname(const mp_heap *h, const uint64_t *slot);

/* The VM's table of strings. */
const char *mp_heap_strtab(const mp_heap *h);

/* The FFI's state, or NULL. */
static inline const char *mp_heap_ctstate(const mp_heap *h)
{
  return REF(const char *, h->g, h->layout->jitbase + JITBASE_CTSTATE);
}

static inline uint32_t mp_heap_strlen(const mp_heap *h, const char *str)
{
  return AT(const uint32_t, str, h->layout->len);
}

static inline const char *mp_heap_text(const mp_heap *h, const char *str)
{
  return str + h->layout->data;
}

#endif
