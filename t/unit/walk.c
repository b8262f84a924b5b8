/* SPDX-License-Identifier: MIT */
/* A stack's key is the same whether the frames below were seen before or not,
** in programs that do all that stacks can do: at every allocation, and where
** only some of them are looked at. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/where.h"

#include "lauxlib.h"

static mp_vm vm;
static mp_walk known, fresh;	/* With and without what was seen before. */
static uint8_t white;
static unsigned every, dice;	/* One allocation of so many is looked at. */
static unsigned long seen, reused, spots, wrong;

/* Acts as the allocation sampler when a block is freed. */
static void freeing(void *ptr, size_t size)
{
  if (mp_vm_white(&vm) != white) {
    white = mp_vm_white(&vm);
    mp_walk_collected(&known);
  }
  if (size < MP_VM_LARGE || !mp_vm_watched(ptr)) return;
  mp_vm_freeing(&vm, ptr);
  if (!mp_vm_iscode(ptr, size)) return;
  mp_walk_freed(&known, ptr, size);
  mp_walk_freed(&fresh, ptr, size);
}

/* ret, frame: the hook's, as a hook notes them. */
static void compare(const void *ret, const char *frame)
{
  mp_where a, b;
  mp_spot s;
  int state;
  bool before = known.n > 0;
  dice = dice * 1103515245u + 12345;
  if ((dice >> 16) % every != 0) return;
  mp_walk_collected(&fresh);
  if (!mp_where_running(&vm, &fresh, &a, &state)) return;
  if (!mp_where_running(&vm, &known, &b, &state)) wrong++;
  seen++;
  if (before && known.L == a.L) reused++;
  if (a.key != b.key) wrong++;
  mp_vm_called(&vm, ret, frame);
  if (!mp_where_spot(&vm, &s)) return;
  spots++;
  if (s.state != state) wrong++;
  if (mp_where_spotkey(&vm, &known, &s) != a.key) wrong++;
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  if (ptr != NULL) freeing(ptr, osize);
  if (nsize != 0)
    compare(__builtin_return_address(0), __builtin_dwarf_cfa());
  return real->f(real->ud, ptr, osize, nsize);
}

/* Runs a program under the hook. False: the VM cannot be looked into. */
static bool run(const char *code, bool jit)
{
  lua_State *L = check_open(&vm, jit);
  if (L == NULL) return false;
  mp_walk_free(&known);
  mp_walk_free(&fresh);
  memset(&known, 0, sizeof(known));
  memset(&fresh, 0, sizeof(fresh));
  seen = reused = spots = wrong = 0;
  white = mp_vm_white(&vm);
  check_run(L, code, hook);
  lua_close(L);
  return true;
}

static void check(const char *code)
{
  int i;
  for (i = 0; i < 4; i++) {
    every = i < 2 ? 1 : 5;
    if (!run(code, i % 2)) return;
    ck_assert_uint_gt(seen, 500);
    ck_assert_uint_gt(reused, seen / 2);
    ck_assert_uint_gt(spots, seen / 2);
    ck_assert_uint_eq(wrong, 0);
  }
}

PROGRAM_TEST(recursion)
PROGRAM_TEST(deep)
PROGRAM_TEST(through_c)
PROGRAM_TEST(coroutines)
PROGRAM_TEST(functions_collected)
PROGRAM_TEST(finalizers)
PROGRAM_TEST(hooks)
PROGRAM_TEST(calls)

/* -- Code that is freed -------------------------------------------------- */

#ifdef MP_LAYOUT

/* The key of the thread's stack. */
static uint64_t key_now(void)
{
  mp_where w;
  int state;
  ck_assert(mp_where_running(&vm, &known, &w, &state));
  return w.key;
}

/* Whether the key is another one after that block of code was freed. */
static bool depends_on(const char *block, size_t size)
{
  uint64_t key = key_now();
  mp_walk_freed(&known, block, size);
  return key_now() != key;
}

/* The prototype of the function at that level. */
static const char *proto_at(lua_State *L, int level)
{
  lua_Debug ar;
  const char *pt;
  ck_assert_int_eq(lua_getstack(L, level, &ar), 1);
  lua_getinfo(L, "f", &ar);
  pt = func_proto(lua_topointer(L, -1));
  lua_pop(L, 1);
  ck_assert_ptr_nonnull(pt);
  return pt;
}

/* Whether blocks lie so close together that one may be taken for the other. */
static bool near(const char *a, const char *b)
{
  return (uintptr_t)(a - b) + 2048 < 4096;
}

/* Pushes the first function of a list that is near to neither. */
static const char *push_far(lua_State *L, const char *a, const char *b)
{
  const char *pt;
  int i = 0;
  do {
    lua_rawgeti(L, 1, ++i);
    ck_assert(lua_isfunction(L, -1));
    pt = func_proto(lua_topointer(L, -1));
  } while (near(pt, a) || near(pt, b));
  return pt;
}

static int free_some(lua_State *L)
{
  const char *top = proto_at(L, 1), *below = proto_at(L, 2);
  const char *other = push_far(L, top, below);
  uint64_t pc = AT(gcref, lua_topointer(L, -1), FUNC_PC);
  ck_assert(depends_on(top, AT(uint32_t, top, PT_SIZE)));
  ck_assert(depends_on(below, AT(uint32_t, below, PT_SIZE)));
  ck_assert(!depends_on(other, AT(uint32_t, other, PT_SIZE)));
  mp_walk_site(&known, pc, 7);
  ck_assert_uint_eq(known.sites[pc >> 2 & (MP_WALK_SITES - 1)].id, 7);
  depends_on(other, AT(uint32_t, other, PT_SIZE));
  ck_assert_uint_eq(known.sites[pc >> 2 & (MP_WALK_SITES - 1)].id, 0);
  return 0;
}

#else

static int free_some(lua_State *L)
{
  (void)L;
  return 0;
}

#endif

/* The keys that depend on it are other ones, those of other code are not. */
START_TEST(code_freed)
{
  lua_State *L = check_open(&vm, false);
  if (L == NULL) return;
  lua_register(L, "free_some", free_some);
  if (luaL_dostring(L, "local list = {}\n"
		    "local function top() local x = free_some(list) end\n"
		    "local function below() local x = top() end\n"
		    "for i = 1, 99 do list[i] = loadstring('return '..i) end\n"
		    "below()") != 0)
    ck_abort_msg("%s", lua_tostring(L, -1));
  mp_walk_free(&known);
  lua_close(L);
}
END_TEST

/* Fills the table of calls with one for each slot, frees those of a block, and
** counts the others that are left; -1: one of the block's is. */
static int sites_left(uint64_t from, size_t size)
{
  uint64_t base = from & ~UINT64_C(4095), pc;
  int left = 0;
  for (pc = base; pc < base + 4096; pc += 4) mp_walk_site(&known, pc, 1);
  mp_walk_freed(&known, (const void *)(uintptr_t)from, size);
  for (pc = base; pc < base + 4096; pc += 4) {
    if (known.sites[pc >> 2 & (MP_WALK_SITES - 1)].pc != pc) continue;
    if (pc >= from && pc <= from + size) return -1;
    left++;
  }
  return left;
}

/* Calls from code that is freed are forgotten, up to its last byte, wherever
** they are in the table, and no others are. */
START_TEST(sites_freed)
{
  memset(&known, 0, sizeof(known));
  ck_assert_int_eq(sites_left(0x10000, 96), MP_WALK_SITES - 25);
  ck_assert_int_eq(sites_left(0x10008, 4), MP_WALK_SITES - 2);
  ck_assert_int_eq(sites_left(0x10f00, 4096), MP_WALK_SITES - 64);
  ck_assert_int_eq(sites_left(0x10000, 4092), 0);
  ck_assert_int_eq(sites_left(0x10000, 1 << 20), 0);
  ck_assert_int_eq(sites_left(0x0ff00 + 4096, 0), MP_WALK_SITES - 1);
  mp_walk_free(&known);
}
END_TEST

CHECK_MAIN("walk", recursion, deep, through_c, coroutines, functions_collected,
	   finalizers, hooks, calls, code_freed, sites_freed)
