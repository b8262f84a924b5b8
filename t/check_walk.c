/* SPDX-License-Identifier: MIT */
/* A stack's key is the same whether the frames below were met before or not,
** in programs that do all that stacks can do: at every allocation, and where
** only some of them are looked at. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/where.h"

#include "lauxlib.h"

static lua_Alloc allocf;	/* The allocator of the VM. */
static void *allocd;
static mp_vm vm;
static mp_walk known, fresh;	/* With and without what was met before. */
static uint8_t white;
static unsigned every, dice;	/* One allocation of so many is looked at. */
static unsigned long seen, reused, wrong;

/* Acts as the allocation sampler when a block is freed. */
static void freeing(void *ptr, size_t size)
{
  if (mp_vm_white(&vm) != white) {
    white = mp_vm_white(&vm);
    mp_walk_collected(&known);
  }
  if (size < MP_VM_LARGE || !mp_vm_watched(ptr)) return;
  mp_vm_freeing(&vm, ptr);
  if (mp_vm_iscode(ptr, size)) mp_walk_forget(&known);
}

static void compare(void)
{
  mp_where a, b;
  int state;
  bool met = known.n > 0;
  dice = dice * 1103515245u + 12345;
  if ((dice >> 16) % every != 0) return;
  mp_walk_collected(&fresh);
  if (!mp_where_running(&vm, &fresh, &a, &state)) return;
  if (!mp_where_running(&vm, &known, &b, &state)) wrong++;
  seen++;
  if (met && known.L == a.L) reused++;
  if (a.key != b.key) wrong++;
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  (void)ud;
  if (ptr != NULL) freeing(ptr, osize);
  if (nsize != 0) compare();
  return allocf(allocd, ptr, osize, nsize);
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
  seen = reused = wrong = 0;
  white = mp_vm_white(&vm);
  allocf = lua_getallocf(L, &allocd);
  lua_setallocf(L, hook, NULL);
  if (luaL_dostring(L, code) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  lua_setallocf(L, allocf, allocd);
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
    ck_assert_uint_eq(wrong, 0);
  }
}

START_TEST(recursion)
{
  check(program_recursion);
}
END_TEST

START_TEST(deep)
{
  check(program_deep);
}
END_TEST

START_TEST(through_c)
{
  check(program_through_c);
}
END_TEST

START_TEST(coroutines)
{
  check(program_coroutines);
}
END_TEST

/* Functions that come and go, so that others lie where they were, and are
** called from where they were. */
START_TEST(functions_collected)
{
  check(program_functions_collected);
}
END_TEST

START_TEST(finalizers)
{
  check(program_finalizers);
}
END_TEST

START_TEST(hooks)
{
  check(program_hooks);
}
END_TEST

START_TEST(calls)
{
  check(program_calls);
}
END_TEST

CHECK_MAIN("walk", recursion, deep, through_c, coroutines, functions_collected,
	   finalizers, hooks, calls)
