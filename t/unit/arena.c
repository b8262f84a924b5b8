/* SPDX-License-Identifier: MIT */
/* mp_arena: LuaJIT's allocator from outside, and others in its place. */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
static bool replaced;		/* LuaJIT's allocator has that one instead. */

static lua_State *(*find_original(void))(void)
{
  void *p = dlsym(RTLD_NEXT, "luaL_newstate");
  lua_State *(*f)(void);
  memcpy(&f, &p, sizeof(f));
  return f;
}

/* In place of LuaJIT's. */
lua_State *luaL_newstate(void)
{
  return replaced ? lua_newstate(by_malloc, the_data) : find_original()();
}

static void fails_for(void *data)
{
  mp_arena a = { 1, 1, 1, 1, 1 };
  replaced = true;
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

/* Fills a segment by blocks of the least size, after one that is `words` words
** longer: in one of two cases the last chunk ends as half a block. */
static void is_known_while_filled(size_t words)
{
  lua_State *L = luaL_newstate();
  void *ud;
  lua_Alloc f;
  mp_arena a;
  bool known;
  int i;
  ck_assert_ptr_nonnull(L);
  f = lua_getallocf(L, &ud);
  known = mp_arena_look(f, ud, &a);
  ck_assert_ptr_nonnull(f(ud, NULL, 0, (3 + words) * sizeof(void *)));
  for (i = 0; i < 5000; i++) {
    ck_assert_ptr_nonnull(f(ud, NULL, 0, 3 * sizeof(void *)));
    ck_assert_int_eq(mp_arena_look(f, ud, &a), known);
    if (known) ck_assert_uint_le(a.free + a.used, a.system);
  }
  lua_close(L);
}

START_TEST(a_segment_that_becomes_full)
{
  is_known_while_filled(0);
  is_known_while_filled(2);
}
END_TEST

CHECK_MAIN("arena", a_segment_that_becomes_full, an_allocator_without_data,
	   an_allocator_with_data_of_its_own, data_that_cannot_be_read)
