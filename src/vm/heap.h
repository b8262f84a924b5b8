/* SPDX-License-Identifier: MIT */
/*
** The Lua heap, read from outside: every object, its size, what it refers to.
**
** These functions only read, on the thread that runs the VM, which stands still
** meanwhile; memory comes from malloc, never from the heap that is read. The
** collector may be in any phase: objects that it has not freed yet are found
** too, and are garbage if nothing leads to them. They are not to be called
** inside the allocator, nor in a signal handler: there the VM may be changing
** an object.
**
** Objects are known by their addresses. References are those that the
** collector follows: not the values or keys that a weak table lets go.
**
** The layout is proved on a state of its own, of the same VM (mp_heap_prove):
** all kinds of objects are made there, each must have the size of its block of
** memory, and after a full collection each must be reached.
*/
#ifndef MP_HEAP_H
#define MP_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "data/graph.h"
#include "data/places.h"

#include "lua.h"

/* The parts of the layout that differ from version to version. */
typedef struct mp_heaplayout {
  bool proved;
  const char *why;		/* The reason if it is not: static string. */
  uint32_t curl, vmstate;	/* As in mp_vm. */
  uint32_t mainl;		/* Distance from the main thread to the */
				/* global state. */
  uint32_t registry;		/* Offset of the registry's slot. */
  uint32_t names;		/* Names of events among the VM's roots. */
  uint32_t thread;		/* Bytes of a lua_State. */
  uint32_t state;		/* Bytes of the VM's state: all in one block. */
  uint32_t ctstate;		/* Bytes of the FFI's, without its tables. */
} mp_heaplayout;

/* The layout of this process's LuaJIT, proved the first time it is asked for.
** Any thread. */
const mp_heaplayout *mp_heap_prove(void);

typedef struct mp_heap {
  const mp_heaplayout *layout;
  const char *g;		/* The global state. */
  const char *mainl;		/* The main thread. */
  mp_places places;		/* All objects, numbered by address. */
  const char **traces;		/* By number of the trace, or NULL. */
  uint32_t ntraces;		/* Numbers are less than that. */
  const char **fixed;		/* Objects that are never collected. */
  uint32_t nfixed, capfixed;
  const char *modestr;		/* The string "__mode". */
  struct {
    const char *meta;		/* A metatable, */
    int weak;			/* and the references that are weak in */
				/* tables with it. */
  } modes[64];
  const char *self;		/* A thread whose slots from `hidden` on */
  const uint64_t *hidden;	/* are not the program's; or NULL. */
  bool failed;			/* There was no memory. */
} mp_heap;

/* mp_heap_open with a layout that is still to be proved: for the proof. */
bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L);

/* Finds all objects of L's heap. False: no memory, or the layout is not
** proved; mp_heap_close is to be called nevertheless. */
bool mp_heap_open(mp_heap *h, lua_State *L);
void mp_heap_close(mp_heap *h);

/* The object in that slot of L's running C function; NULL: the value is none.
** From then on the slots of that function count as no references. */
const char *mp_heap_argument(mp_heap *h, lua_State *L, int index);

/* The VM's table of strings. */
const char *mp_heap_strtab(const mp_heap *h);

/* -- Sizes (heapsize.c) -------------------------------------------------- */

/* Bytes of the heap that belong to an object. */
uint64_t mp_heap_size(const mp_heap *h, const char *obj);

/* The blocks of memory of an object; size 0: there is none. */
#define MP_HEAP_PARTS	3
typedef struct mp_heapparts {
  const void *block[MP_HEAP_PARTS];
  uint64_t size[MP_HEAP_PARTS];
} mp_heapparts;
void mp_heap_parts(const mp_heap *h, const char *obj, mp_heapparts *parts);

/* The memory that the VM itself takes, in bytes. Together with all objects it
** adds up to the total that the collector counts. */
typedef struct mp_heapown {
  uint64_t total;		/* As the collector counts. */
  uint64_t state;		/* The global state, with the compiler's. */
  uint64_t strtab;		/* Table of strings. */
  uint64_t ctypes;		/* The FFI's state and C types. */
  uint64_t buffer;		/* Where strings are put together. */
  uint64_t rest;		/* The compiler's buffers, others. */
} mp_heapown;

/* objects: bytes of all objects. False: the numbers do not add up. */
bool mp_heap_own(const mp_heap *h, uint64_t objects, mp_heapown *own);

/* -- References (heapedge.c) --------------------------------------------- */

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

/* Makes a graph of the objects, by their numbers, with their sizes; its root
** stands for the VM. The heap must stay open. False: no memory. */
bool mp_heap_graph(mp_heap *h, mp_graph *g);

#endif
