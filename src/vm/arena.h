/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's own allocator, read from outside: the memory that it has from the
** system, and the free part of that. The allocator returns memory only when a
** whole segment is free, so a process can be much larger than its Lua heap.
**
** On the thread that runs the VM, outside the allocator. Blocks of 128 KB and
** more come from the system one by one, and are no part of these numbers.
*/
#ifndef MP_ARENA_H
#define MP_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lua.h"

typedef struct mp_arena {
  uint64_t system;		/* Bytes of its segments. */
  uint64_t free;		/* Bytes of free chunks. */
  uint64_t largest;		/* Bytes of the largest free chunk. */
  uint64_t used;		/* Bytes of chunks in use, with their heads. */
  uint64_t chunks;		/* Number of chunks in use. */
} mp_arena;

#define MP_ARENA_HEAD	8	/* Bytes of a chunk that are no object's. */

/* One segment: memory that the system gets back only as a whole. */
typedef struct mp_segment {
  const char *base;
  uint64_t size;
  uint64_t free, used;		/* Bytes of chunks, with their heads. */
} mp_segment;

/* False: the allocator is not LuaJIT's, or not a known version of it. */
bool mp_arena_look(lua_Alloc f, void *ud, mp_arena *a);

/* The same, and tells of each segment. */
typedef void mp_arena_see(void *data, const mp_segment *s);
bool mp_arena_each(lua_Alloc f, void *ud, mp_arena *a, mp_arena_see *see,
		   void *data);

/* Tells of each block in use, and how many bytes it has room for: those that
** were asked for, or somewhat more. */
typedef void mp_arena_block(void *data, char *p, size_t room);
bool mp_arena_blocks(lua_Alloc f, void *ud, mp_arena_block *see, void *data);

/* The same as mp_arena_look for the data of an allocator, most likely LuaJIT's,
** that were copied from another process to where they lie there, with all that
** they refer to. Nothing is proved of the layout but that all of it fits, and
** has so many chunks at most, free ones too. */
bool mp_arena_copied(const void *ud, uint64_t most, mp_arena *a);

/* The room of a block of the allocator's. */
size_t mp_arena_room(const char *p);

#endif
