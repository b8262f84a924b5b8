/* SPDX-License-Identifier: MIT */
/*
** The allocator of states from luaL_newstate, which is LuaJIT's own.
**
** Its lua_Alloc only chooses one of three functions, by its arguments. A hook
** that has chosen already may call these: on x86-64 they are read from the
** machine code of the lua_Alloc, and tried.
*/
#ifndef MP_ALLOCATOR_H
#define MP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "lua.h"

/* Each gets the data of the lua_Alloc first. */
typedef struct mp_allocator {
  void *(*make)(void *ud, size_t size);
  void *(*again)(void *ud, void *block, size_t size);
  void *(*release)(void *ud, void *block);  /* Returns NULL. */
} mp_allocator;

/* Learns from the allocator of a state that luaL_newstate has made, once in a
** process. There must be some memory to be had from it. */
void mp_allocator_learn(lua_Alloc f, void *ud);

/* Whether that is this allocator. It does not read the size of a block that it
** is given back. */
bool mp_allocator_builtin(lua_Alloc f);

/* Its functions. All are NULL: it is another allocator, or they are not
** known. */
mp_allocator mp_allocator_of(lua_Alloc f);

/* Reads the functions from the code at `code`. False: it does other things than
** choosing one. */
bool mp_allocator_read(const void *code, mp_allocator *a);

#endif
