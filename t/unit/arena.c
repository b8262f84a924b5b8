/* SPDX-License-Identifier: MIT */
/* mp_arena: LuaJIT's allocator from outside, and others in its place. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "check_main.h"
#include "vm/arena.h"

#include "lauxlib.h"

/* A build of LuaJIT may have this one, without data. */
static void *by_malloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
  (void)ud; (void)osize;
  if (nsize != 0) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

static void *the_data;

/* In place of LuaJIT's. */
lua_State *luaL_newstate(void) { return lua_newstate(by_malloc, the_data); }

static void fails_for(void *data)
{
  mp_arena a = { 1, 1, 1, 1, 1 };
  the_data = data;
  ck_assert(!mp_arena_look(by_malloc, data, &a));
  ck_assert(a.system == 0 && a.free == 0 && a.largest == 0 && a.used == 0);
}

START_TEST(an_allocator_without_data)
{
  fails_for(NULL);
}
END_TEST

START_TEST(an_allocator_with_data_of_its_own)
{
  static uint64_t zeros[256];
  fails_for(zeros);
}
END_TEST

START_TEST(data_that_cannot_be_read)
{
  fails_for((void *)(uintptr_t)16);
}
END_TEST

CHECK_MAIN("arena", an_allocator_without_data,
	   an_allocator_with_data_of_its_own, data_that_cannot_be_read)
