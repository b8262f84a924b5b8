/* SPDX-License-Identifier: MIT */
/*
** The memory of the process by part: a table that adds up to its RSS.
**
** The table is taken on the thread that runs the VM, at rest: in a C function
** or at a safepoint. Elsewhere the VM's allocator is not read. All amounts are
** bytes.
*/
#ifndef MP_MEMORY_H
#define MP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* The bytes that a row has in use in segments that are mostly free. */
typedef struct mp_pin {
  uint32_t row;
  double objects, bytes;
} mp_pin;

typedef struct mp_memory {
  bool known;			/* The kernel said so. */
  bool arena;			/* LuaJIT's allocator was looked at. */
  bool malloc;			/* malloc is the C library's, which tells. */
  double rss;			/* The sum of the following: */
  double lua;			/* what the collector counts; */
  double lua_free, lua_heads;	/* free, and heads and padding of chunks, in */
				/* LuaJIT's allocator; */
  double code;			/* machine code of traces; */
  double stacks;		/* of C; */
  double malloc_used, malloc_free;
  double mixed;			/* malloc and LuaJIT's allocator, where they */
				/* cannot be distinguished; */
  double files, profiler, other;
  double segments;		/* Number of LuaJIT's allocator's; bytes of */
  double largest_free;		/* the largest free piece in them. */
  double pinned;		/* Number of those at least half free, and */
  double pinned_free, pinned_used;  /* the bytes in them. */
  mp_pin *pins;			/* By bytes, the most first. */
  uint32_t npins;
} mp_memory;

/* An allocator with its data; zeros: there is none. */
typedef struct mp_memory_of {
  lua_Alloc f;
  void *ud;
} mp_memory_of;

/* Takes the table into p->memory, in place of the last one. The VM is at rest.
** own: the allocator of the profiler's private state. */
void mp_memory_take(mp_profile *p, const mp_memory_of *own);

/* The same while the VM is not at rest: LuaJIT's allocator is not read. */
void mp_memory_take_partly(mp_profile *p, const mp_memory_of *own);

void mp_memory_drop(mp_profile *p);

/* Pushes it as a table, and the pins as a list. Raise Lua errors: out of
** memory. */
void mp_memory_push(lua_State *L, const mp_memory *m);
void mp_memory_push_pins(lua_State *L, const mp_memory *m);

#endif
