/* SPDX-License-Identifier: MIT */
/*
** The search for LuaJIT's own record of who has its profiler, in a program that
** has such a record and no LuaJIT.
*/
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "check_main.h"

#include "vm/profiler.h"

/* As in LuaJIT: the last part is filled in by the kernel, in part. Not static,
** or else the compiler knows that nobody looks. */
struct {
  void *g;
  luaJIT_profile_callback cb;
  void *data;
  long other[12];
  void *rest[16];
} state;

static int vm, ours;

static void callback(void *data, lua_State *L, int samples, int vmstate)
{
  (void)data; (void)L; (void)samples; (void)vmstate;
}

void luaJIT_profile_start(lua_State *L, const char *mode,
			  luaJIT_profile_callback cb, void *data)
{
  (void)L; (void)mode;
  state.g = &vm;
  state.cb = cb;
  state.data = data;
}

START_TEST(it_is_not_found_before_a_start)
{
  ck_assert(!mp_profiler_find(callback, &ours));
  ck_assert(!mp_profiler_known());
}
END_TEST

START_TEST(it_is_found)
{
  luaJIT_profile_start(NULL, "", callback, &ours);
  ck_assert(mp_profiler_find(callback, &ours));
  ck_assert(mp_profiler_runs(callback, &ours));
  ck_assert(!mp_profiler_runs(callback, &vm));
  state.g = NULL;
  ck_assert(!mp_profiler_taken());
}
END_TEST

/* Words of the stack that were left in it look like another one. */
START_TEST(its_end_may_look_like_it)
{
  luaJIT_profile_start(NULL, "", callback, &ours);
  state.rest[3] = &vm;
  memcpy(&state.rest[4], &state.cb, sizeof(state.cb));
  state.rest[5] = &ours;
  ck_assert(mp_profiler_find(callback, &ours));
  state.g = NULL;
  ck_assert(!mp_profiler_taken());
}
END_TEST

/* References of 32 bits: behind that buffer's place, end and begin is its
** thread, which it has from the start. */
START_TEST(a_buffer_that_is_not_there_has_a_thread)
{
  uint32_t buffer[4] = { 0, 0, 0, 1 };
  luaJIT_profile_start(NULL, "", callback, &ours);
  memcpy(state.other, buffer, sizeof(buffer));
  ck_assert(mp_profiler_find(callback, &ours));
  ck_assert(!mp_profiler_dumped());
  buffer[0] = buffer[1] = buffer[2] = 1;
  memcpy(state.other, buffer, sizeof(buffer));
  ck_assert(mp_profiler_dumped());
}
END_TEST

CHECK_MAIN("profiler", it_is_not_found_before_a_start, it_is_found,
	   its_end_may_look_like_it, a_buffer_that_is_not_there_has_a_thread)
