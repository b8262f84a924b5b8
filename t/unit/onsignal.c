/* SPDX-License-Identifier: MIT */
/* Functions that signals call, where memory runs out. */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "check_main.h"
#include "check_state.h"

static lua_Alloc original;
static void *its_data;
static int left;		/* Allocations that succeed; below 0: all. */

static void *fails_later(void *ud, void *p, size_t osize, size_t nsize)
{
  (void)ud;
  if (nsize > osize && left >= 0 && left-- == 0) {
    left = 0;
    return NULL;
  }
  return original(its_data, p, osize, nsize);
}

static const char wait_for_it[] =
  "require('jit.mp.core').on_signal('USR2', function()\n"
  "  called = (called or 0) + 1\n"
  "end)\n";

/* Waits for the signal with that many allocations. False: more are needed. */
static bool wait_with(lua_State *L, int allocations)
{
  bool ok;
  if (luaL_loadstring(L, wait_for_it) != 0) ck_abort();
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCSTOP, 0);
  original = lua_getallocf(L, &its_data);
  lua_setallocf(L, fails_later, NULL);
  left = allocations;
  ok = lua_pcall(L, 0, 0, 0) == 0;
  left = -1;
  lua_setallocf(L, original, its_data);
  lua_settop(L, 0);
  return ok;
}

static void is_called(lua_State *L, int n)
{
  char code[128];
  snprintf(code, sizeof(code),
	   "for i = 1, 100 do end assert((called or 0) == %d, called)", n);
  run(L, code);
}

/* Takes the profiler's lock. */
static void *profile(void *ud)
{
  lua_State *L = open_state();
  (void)ud;
  start(L, "fi1", "/dev/null");
  run(L, wait_for_it);
  lua_close(L);
  return NULL;
}

/* The state that has failed shares nothing with those that come later. */
START_TEST(memory_runs_out)
{
  bool done = false;
  int n;
  alarm(60);
  for (n = 0; !done; n++) {
    lua_State *L = open_state(), *other = open_state();
    pthread_t t;
    run(L, "require('jit.mp.core')");
    done = wait_with(L, n);
    pthread_create(&t, NULL, profile, NULL);
    pthread_join(t, NULL);
    run(other, wait_for_it);
    raise(SIGUSR2);
    is_called(other, 1);
    is_called(L, done ? 1 : 0);
    lua_close(L);
    raise(SIGUSR2);
    is_called(other, 2);
    lua_close(other);
  }
  ck_assert_int_gt(n, 5);
}
END_TEST

CHECK_MAIN("onsignal", memory_runs_out)
