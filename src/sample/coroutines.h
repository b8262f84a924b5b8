/* SPDX-License-Identifier: MIT */
/*
** The coroutines of a VM, and a label for each.
**
** The hook of the allocator tells of each block of a coroutine's size. Others
** have that size, too: whether it became one shows at the allocator's next
** call, as the VM then has written the header and asks for the stack. Those
** that are older than the hook are found in the collector's list.
**
** Only the thread that runs the VM changes anything here. A label may be asked
** for in a handler of its signals, too. Another thread may read the addresses
** of coroutines, in no order: each is one that existed a moment ago, and the
** memory there may be gone.
**
** OpenResty's LuaJIT has lua_resetthread, by which a host uses a coroutine
** again for another function. No call of the allocator tells of that: the
** coroutine's lowest function is looked at where its label is asked for. It is
** not certain to be the one that has started if that one makes tail calls.
**
** Only for a VM whose layout was proved. Memory comes from malloc. Coroutines
** for which there is none, or that are more than MP_COROUTINES_MAX, are not
** known, and counted.
*/
#ifndef MP_COROUTINES_H
#define MP_COROUTINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/vm.h"

#include "lua.h"

#define MP_COROUTINES_PAGE	1024u
#define MP_COROUTINES_PAGES	1024u
#define MP_COROUTINES_MAX	(MP_COROUTINES_PAGE * MP_COROUTINES_PAGES)

typedef struct mp_coroutine {
  atomic_uintptr_t L;
  atomic_uint label;		/* 0: none. */
  _Atomic uint64_t entry;	/* Of the function that it has begun with, if */
				/* it has a label; 0: not looked at yet. */
} mp_coroutine;

typedef struct mp_coroutines {
  mp_vm *vm;
  bool all;			/* Not only those with a label are known. */
  bool reused;			/* They may be used again. */
  size_t size;			/* Bytes of a coroutine, without its stack. */
  const char *fresh;		/* A block that may become one; or NULL: */
  uint32_t freshlabel;		/* with the label of the one that made it. */
  atomic_uint n;		/* Those that are known. */
  uint64_t lost;		/* Those that never were. */
  uintptr_t scanned;		/* The prototype that was scanned last, and 1 */
				/* if it makes tail calls. */
  mp_coroutine *_Atomic pages[MP_COROUTINES_PAGES];
  struct mp_coroutinetable *_Atomic table;  /* From address to number. */
} mp_coroutines;

/* The hook is to be put in place before the next allocation. all: knows the
** coroutines that there are, among them the main thread; else only those that
** get labels, or are new. NULL: no memory. */
mp_coroutines *mp_coroutines_new(mp_vm *vm, bool all);

/* No other thread reads any more. c may be NULL. */
void mp_coroutines_free(mp_coroutines *c);

/* -- For the hook --------------------------------------------------------- */

/* A block is about to be freed, or to be allocated. A block of another
** size needs no call, unless one is allocated while `fresh` is set. */
void mp_coroutines_settle(mp_coroutines *c);
void mp_coroutines_freed(mp_coroutines *c, const void *block);
static inline void mp_coroutines_born(mp_coroutines *c)
{
  if (c->fresh != NULL) mp_coroutines_settle(c);
}
static inline void mp_coroutines_before(mp_coroutines *c, const void *ptr,
					size_t osize, size_t nsize)
{
  mp_coroutines_born(c);
  if (nsize == 0 && osize == c->size && ptr != NULL &&
      AT(uint8_t, ptr, OBJ_GCT) == GCT_THREAD)
    mp_coroutines_freed(c, ptr);
}

/* A block of that size was allocated. */
void mp_coroutines_made(mp_coroutines *c, void *block);
static inline void mp_coroutines_after(mp_coroutines *c, void *block,
				       size_t size)
{
  if (size == c->size) mp_coroutines_made(c, block);
}

/* -- Labels --------------------------------------------------------------- */

/* The label of a coroutine; 0: it has none, or is not known. A new one has the
** label that the running one had when it was made. In a signal handler of the
** VM's thread, too. */
uint32_t mp_coroutines_label(const mp_coroutines *c, const lua_State *L);

/* The running coroutine has no label any more if it is used again for another
** function. Not while the VM may be moving its stack: inside the allocator, at
** a safepoint or between two instructions of compiled code. */
void mp_coroutines_look(mp_coroutines *c, const lua_State *L);

/* A block that may be a prototype is being freed. */
void mp_coroutines_forget(mp_coroutines *c, const void *block);

/* The coroutine exists. False: no memory. */
bool mp_coroutines_set(mp_coroutines *c, const lua_State *L, uint32_t label);

/* -- For any thread ------------------------------------------------------- */

/* Their number, and one of them, from 0, with its label; NULL: it has just
** gone. */
static inline uint32_t mp_coroutines_count(const mp_coroutines *c)
{
  return atomic_load_explicit(&c->n, memory_order_acquire);
}

const lua_State *mp_coroutines_at(const mp_coroutines *c, uint32_t i,
				  uint32_t *label);

/* The label of a coroutine, read with the kernel's help: right if the VM's
** thread has not run meanwhile. 0: none, or it is not known. */
uint32_t mp_coroutines_peek(const mp_coroutines *c, const lua_State *L);

#endif
