/* SPDX-License-Identifier: MIT */
/* Private states in which memory runs out: at a call, and while the library ffi
** is opened. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "check_main.h"

#include "report/files.h"
#include "report/state.h"

/* A state needs no more of the rest of the profiler. */
void mp_files_push(lua_State *R) { lua_newtable(R); }

static bool opened;

static int open_ffi(lua_State *R)
{
  lua_getglobal(R, "require");
  lua_pushliteral(R, "ffi");
  lua_call(R, 1, 1);
  opened = lua_istable(R, -1);
  return 0;
}

static int keep(lua_State *R)
{
  *(void **)mp_state_argument(R) = R;
  return 0;
}

static const lua_CFunction functions[] = { open_ffi, keep, NULL };

static mp_state *open_state(void)
{
  mp_state *s;
  char path[4096], msg[256];
  const char *dir = getenv("srcdir");
  snprintf(path, sizeof(path), "%s/lib/?.lua", dir != NULL ? dir : ".");
  ck_assert_int_eq(mp_state_open(&s, path, functions, msg, sizeof(msg)), 0);
  return s;
}

START_TEST(a_call_takes_no_memory)
{
  mp_state *s = open_state();
  void *called = NULL;
  mp_state_limit(s, 1);
  ck_assert(mp_state_call(s, keep, &called, NULL, 0));
  ck_assert_ptr_eq(called, s->R);
  mp_state_limit(s, 0);
  mp_state_close(s);
}
END_TEST

/* Whether a state that may take so many bytes more has the library half open
** when it is closed. */
static bool half_open(size_t bytes)
{
  mp_state *s = open_state();
  char msg[256];
  lua_State *R = s->R;
  bool half;
  opened = false;
  mp_state_limit(s, bytes);
  if (mp_state_call(s, open_ffi, NULL, msg, sizeof(msg))) ck_assert(opened);
  else ck_assert_ptr_nonnull(strstr(msg, "more memory"));
  mp_state_limit(s, 0);
  half = s->ffi_half_open;
  ck_assert(!half || !opened);
  mp_state_close(s);
  /* luajit-mp attach shall not find what remains. */
  if (half) ck_assert(lua_getallocf(R, NULL) == NULL);
  return half;
}

START_TEST(a_state_with_half_the_library_is_dropped)
{
  size_t bytes;
  int half = 0;
  for (bytes = 1; !opened; bytes += 64) half += half_open(bytes);
  ck_assert_int_gt(half, 0);
  ck_assert(!half_open(1 << 20) && opened);
}
END_TEST

CHECK_MAIN("ffi", a_call_takes_no_memory,
	   a_state_with_half_the_library_is_dropped)
