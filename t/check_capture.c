/* SPDX-License-Identifier: MIT */
/* A stack has the same row whether it is in the cache or not, in programs that
** do all that stacks can do. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "sample/capture.h"
#include "vm/type.h"

#include "lauxlib.h"

/* A capture that keeps a row cached, and one that seldom does: its cache is one
** line. They see the same, so that their rows have the same numbers. */
typedef struct captured {
  mp_capture capture;
  mp_counts counts;
} captured;

static mp_vm vm;
static captured large, small;
static uint8_t white;
static unsigned long seen, wrong;

static void freeing(captured *c, void *ptr, size_t size, bool collected)
{
  if (collected) mp_capture_collected(&c->capture);
  if (size < MP_VM_LARGE || !mp_vm_watched(ptr)) return;
  mp_vm_freeing(&vm, ptr);
  if (mp_vm_iscode(ptr, size)) mp_capture_forget(&c->capture, ptr, size);
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  if (ptr != NULL) {
    bool collected = mp_vm_white(&vm) != white;
    white = mp_vm_white(&vm);
    freeing(&large, ptr, osize, collected);
    freeing(&small, ptr, osize, collected);
  }
  if (nsize != 0) {
    uint32_t row = mp_capture_quick(&large.capture, MP_TYPE_UNKNOWN);
    seen++;
    if (row == 0 || row != mp_capture_quick(&small.capture, MP_TYPE_UNKNOWN))
      wrong++;
  }
  return real->f(real->ud, ptr, osize, nsize);
}

static void open_capture(captured *c, uint32_t slots, lua_State *anchor)
{
  mp_counts_init(&c->counts);
  ck_assert(mp_capture_init(&c->capture, &vm, &c->counts, slots));
  mp_capture_anchor(&c->capture, anchor);
}

static void close_capture(captured *c)
{
  mp_capture_free(&c->capture);
  mp_counts_free(&c->counts);
}

static bool run(const char *code, bool jit)
{
  lua_State *L = check_open(&vm, jit), *anchor;
  if (L == NULL) return false;
  anchor = lua_newthread(L);
  lua_pushnil(anchor);
  open_capture(&large, 1 << 16, anchor);
  open_capture(&small, MP_CACHE_LINE, anchor);
  seen = wrong = 0;
  white = mp_vm_white(&vm);
  check_run(L, code, hook);
  lua_close(L);
  return true;
}

static void check(const char *code)
{
  int jit;
  for (jit = 0; jit < 2; jit++) {
    if (!run(code, jit)) return;
    ck_assert_uint_gt(seen, 500);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_gt(large.counts.nrows, MP_CACHE_LINE);
    ck_assert_uint_eq(large.counts.nrows, small.counts.nrows);
    close_capture(&large);
    close_capture(&small);
  }
}

PROGRAM_TEST(recursion)
PROGRAM_TEST(through_c)
PROGRAM_TEST(coroutines)
PROGRAM_TEST(functions_collected)
PROGRAM_TEST(calls)

CHECK_MAIN("capture", recursion, through_c, coroutines, functions_collected,
	   calls)
