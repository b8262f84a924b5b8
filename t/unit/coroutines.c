/* SPDX-License-Identifier: MIT */
/* The coroutines of a VM are known from their birth to their end, and those
** that were there before; each has the label of the one that made it. */
#include "config.h"

#include "check_main.h"
#include "check_vm.h"

#include "data/mem.h"
#include "sample/coroutines.h"

static mp_vm vm;
static mp_coroutines *known;

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  void *p;
  mp_coroutines_before(known, ptr, osize, nsize);
  p = real->f(real->ud, ptr, osize, nsize);
  if (ptr == NULL && p != NULL) mp_coroutines_after(known, p, nsize);
  return p;
}

static bool has(const mp_coroutines *c, const lua_State *L)
{
  uint32_t i, label;
  for (i = 0; i < mp_coroutines_count(c); i++)
    if (mp_coroutines_at(c, i, &label) == L) return true;
  return false;
}

/* The hook knows those that the collector's list has. */
static void check_known(void)
{
  mp_coroutines *there = mp_coroutines_new(&vm, true);
  uint32_t i, label, n = mp_coroutines_count(there);
  ck_assert_ptr_nonnull(there);
  ck_assert_uint_eq(mp_coroutines_count(known), n);
  for (i = 0; i < n; i++)
    ck_assert(has(known, mp_coroutines_at(there, i, &label)));
  mp_coroutines_free(there);
}

static const char churn[] =
  "local kept, n = {}, 0\n"
  "local function wait(...) return coroutine.yield(...) end\n"
  "for i = 1, 20000 do\n"
  "  local co = coroutine.create(function(a) wait(a) wait { 1, 2, 3 } end)\n"
  "  coroutine.resume(co, i)\n"
  "  if i % 7 == 0 then n = n + 1 kept[n] = co end\n"
  "  if i % 500 == 0 then for k = 1, n, 2 do kept[k] = nil end end\n"
  "  local t = { 1, 2, 3, 4 }\n"  /* Objects of the same size. */
  "  local u = { {}, ('x'):rep(i % 90), function() return i, t, co end }\n"
  "end\n"
  "all = kept\n";

START_TEST(birth_to_end)
{
  lua_State *L = check_open(&vm, true);
  uint32_t n;
  if (L == NULL) return;
  ck_assert_int_eq(luaL_dostring(L, "old = { coroutine.create(print) }\n"
		   "collectgarbage() collectgarbage()"), 0);
  known = mp_coroutines_new(&vm, true);
  ck_assert_ptr_nonnull(known);
  ck_assert(has(known, L));
  n = mp_coroutines_count(known);
  ck_assert_uint_ge(n, 2);
  check_run(L, churn, hook);
  check_known();
  check_run(L, "all = nil collectgarbage() collectgarbage()", hook);
  check_known();
  ck_assert_uint_eq(mp_coroutines_count(known), n);
  check_run(L, "old = nil collectgarbage() collectgarbage()", hook);
  ck_assert_uint_eq(mp_coroutines_count(known), n - 1);
  ck_assert_uint_eq(known->lost, 0);
  mp_coroutines_free(known);
  lua_close(L);
}
END_TEST

static int set_label(lua_State *L)
{
  lua_pushboolean(L, mp_coroutines_set(known, L,
				       (uint32_t)lua_tonumber(L, 1)));
  return 1;
}

static int get_label(lua_State *L)
{
  lua_pushnumber(L, mp_coroutines_label(known, lua_isthread(L, 1) ?
					lua_tothread(L, 1) : L));
  return 1;
}

static const char labels[] =
  "assert(get() == 0 and set(1) and get() == 1)\n"
  "local inner\n"
  "local co = coroutine.wrap(function()\n"
  "  assert(get() == 1)\n"
  "  assert(set(2))\n"
  "  inner = coroutine.create(function() return get() end)\n"
  "  coroutine.yield()\n"
  "  assert(get() == 2)\n"
  "end)\n"
  "co()\n"
  "assert(get() == 1 and set(0))\n"
  "local other = coroutine.create(get)\n"
  "assert(get(inner) == 2 and get(other) == 0)\n"
  "assert(select(2, coroutine.resume(inner)) == 2)\n"
  "co()\n"
  "local all = {}\n"  /* The table and the list grow, and shrink. */
  "for i = 1, 5000 do\n"
  "  set(i)\n"
  "  all[i] = coroutine.create(get)\n"
  "end\n"
  "for i = 1, 5000, 2 do all[i] = nil end\n"
  "collectgarbage() collectgarbage()\n"
  "for i = 2, 5000, 2 do assert(get(all[i]) == i) end\n";

START_TEST(labelled)
{
  lua_State *L = check_open(&vm, true);
  if (L == NULL) return;
  known = mp_coroutines_new(&vm, true);
  ck_assert_ptr_nonnull(known);
  lua_register(L, "set", set_label);
  lua_register(L, "get", get_label);
  check_run(L, labels, hook);
  ck_assert_uint_eq(mp_coroutines_label(known, NULL), 0);
  ck_assert(!mp_coroutines_set(known, NULL, 1));
  mp_coroutines_free(known);
  lua_close(L);
}
END_TEST

#ifndef MP_REFS32

/* The prototype that was scanned for tail calls is forgotten when it is freed:
** another one may lie there then. */
START_TEST(scanned)
{
  lua_State *L = check_open(&vm, true);
  uintptr_t first;
  if (L == NULL) return;
  known = mp_coroutines_new(&vm, true);
  ck_assert_ptr_nonnull(known);
  known->reused = true;
  lua_register(L, "set", set_label);
  check_run(L, "one = function() set(1) end coroutine.wrap(one)()", hook);
  first = known->scanned;
  ck_assert(first != 0 && (first & 1) == 0);
  check_run(L, "coroutine.wrap(function() set(1) return set(2) end)()", hook);
  ck_assert((known->scanned & 1) == 1);
  mp_coroutines_forget(known, (void *)first);
  ck_assert(known->scanned != 0);
  mp_coroutines_forget(known, (void *)(known->scanned & ~(uintptr_t)1));
  ck_assert_uint_eq(known->scanned, 0);
  check_run(L, "coroutine.wrap(one)()", hook);
  ck_assert_uint_eq(known->scanned, first);
  mp_coroutines_free(known);
  lua_close(L);
}
END_TEST

#else

START_TEST(scanned) { }
END_TEST

#endif

/* Without memory, coroutines are not known, and all else goes on. */
START_TEST(no_memory)
{
  lua_State *L = check_open(&vm, true);
  if (L == NULL) return;
  mp_mem_left = 1;
  ck_assert_ptr_null(mp_coroutines_new(&vm, true));
  mp_mem_left = -1;
  known = mp_coroutines_new(&vm, true);
  ck_assert_ptr_nonnull(known);
  mp_mem_left = 0;
  check_run(L, churn, hook);
  ck_assert_uint_gt(known->lost, 0);
  mp_mem_left = -1;
  check_run(L, "all = nil collectgarbage() collectgarbage()", hook);
  check_known();
  check_run(L, churn, hook);
  check_known();
  mp_coroutines_free(known);
  lua_close(L);
}
END_TEST

CHECK_MAIN("coroutines", birth_to_end, labelled, scanned, no_memory)
