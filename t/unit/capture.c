/* SPDX-License-Identifier: MIT */
/* A stack has the same row whether it is in the cache or not, and a part of an
** object has the row of the stack where it was allocated, in programs that do
** all that stacks can do. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "sample/capture.h"
#include "sample/compiler.h"
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
static unsigned long seen, wrong, nparts;

static mp_types types;
static const void *maker;	/* Of the object that was allocated last, */
static uint32_t whole;		/* and its row. */

static void freeing(captured *c, void *ptr, size_t size, bool collected)
{
  if (collected) mp_capture_collected(&c->capture);
  if (size < MP_VM_LARGE || !mp_vm_watched(ptr)) return;
  mp_vm_freeing(&vm, ptr);
  if (mp_vm_iscode(ptr, size)) mp_capture_forget(&c->capture, ptr, size);
}

/* Counts an allocation by its stack, and compares. */
static void allocating(const mp_site *site)
{
  uint8_t type = site != NULL ? site->type : MP_TYPE_UNKNOWN;
  uint32_t row = mp_capture_quick(&large.capture, type);
  seen++;
  if (row == 0 || row != mp_capture_quick(&small.capture, type)) wrong++;
  if (site != NULL && mp_type_ispart(site, maker)) {
    nparts++;
    if (row != mp_capture_part(&large.capture, whole, type)) wrong++;
  } else {
    maker = mp_type_maker(site);
    whole = row;
  }
}

/* Learns the types of places. */
static void look(void)
{
  mp_type type;
  if (types.unknown.block != NULL) mp_type_look(&types, &vm, &type);
}

static void ask(mp_site *site, void *p, size_t size)
{
  if (p != NULL && types.unknown.block == NULL && mp_type_wanted(site, size))
    mp_type_ask(&types, site, p, size, 0);
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  mp_site *site;
  void *p;
  if (ptr != NULL) {
    bool collected = mp_vm_white(&vm) != white;
    white = mp_vm_white(&vm);
    freeing(&large, ptr, osize, collected);
    freeing(&small, ptr, osize, collected);
  }
  if (nsize == 0) {
    if (ptr == types.unknown.block) mp_type_look_last(&types, &vm);
    return real->f(real->ud, ptr, osize, 0);
  }
  look();
  site = mp_type_site(&types, __builtin_return_address(0),
		      (const char *)__builtin_dwarf_cfa());
  allocating(site);
  p = real->f(real->ud, ptr, osize, nsize);
  ask(site, p, nsize);
  return p;
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
  seen = wrong = nparts = 0;
  mp_type_init(&types, &vm);
  maker = NULL;
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
    if (code == program_parts) ck_assert_uint_gt(nparts, 5000);
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
PROGRAM_TEST(parts)

/* A bound on the readings in a second, however many traces there are. */
START_TEST(readings_of_traces)
{
  uint32_t n;
  ck_assert_double_eq(mp_compiler_reads(1000), MP_COMPILER_LOOKS);
  for (n = 0; n < 66000; n += 500)
    ck_assert_double_le(n / mp_compiler_reads(n), 20000);
}
END_TEST

CHECK_MAIN("capture", recursion, through_c, coroutines, functions_collected,
	   calls, parts, readings_of_traces)
