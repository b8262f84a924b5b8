/* SPDX-License-Identifier: MIT */
/*
** For the tests that look into a VM: a state whose layout is proved, and
** programs that do all that stacks can do.
*/
#ifndef CHECK_VM_H
#define CHECK_VM_H

#include <check.h>
#include <stdbool.h>

#include "vm/learn.h"
#include "vm/prove.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

/* -- A state ------------------------------------------------------------- */

/* Two C functions that differ in nothing but what they are. */
static int call_odd(lua_State *L)
{
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

static int call_even(lua_State *L)
{
  lua_call(L, lua_gettop(L) - 1, 1);
  return lua_gettop(L) == 1;
}

/* caller(i): a new function that is the one or the other. */
static int caller(lua_State *L)
{
  lua_pushcclosure(L, (int)lua_tonumber(L, 1) % 2 ? call_odd : call_even, 1);
  return 1;
}

static int prove(lua_State *L)
{
  mp_vm_prove(lua_touserdata(L, 1), L, prove);
  return 0;
}

/* A state with the function `caller`. NULL: it cannot be looked into. */
static lua_State *check_open(mp_vm *vm, bool jit)
{
  lua_State *L = luaL_newstate();
  ck_assert_ptr_nonnull(L);
  mp_learn();
  luaL_openlibs(L);
  lua_register(L, "caller", caller);
  if (!jit) ck_assert_int_eq(luaL_dostring(L, "jit.off()"), 0);
  lua_pushcfunction(L, prove);
  lua_pushlightuserdata(L, vm);
  lua_call(L, 1, 0);
  if (vm->proved) return L;
  ck_assert_ptr_nonnull(vm->why);
  lua_close(L);
  return NULL;
}

/* The allocator of a state, for the hook in front of it. */
typedef struct check_alloc {
  lua_Alloc f;
  void *ud;
} check_alloc;

/* Runs a program with that hook, whose user data is a check_alloc. */
static inline void check_run(lua_State *L, const char *code, lua_Alloc hook)
{
  check_alloc real;
  real.f = lua_getallocf(L, &real.ud);
  lua_setallocf(L, hook, &real);
  if (luaL_dostring(L, code) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  lua_setallocf(L, real.f, real.ud);
}

/* -- Programs ------------------------------------------------------------ */

/* The test of a program, which has the program's name. */
#define PROGRAM_TEST(name) \
  START_TEST(name) { check(program_##name); } END_TEST

static const char program_recursion[] =
  "local function left(n) return n > 0 and { n, left(n - 1) } or {} end\n"
  "local function both(n)\n"
  "  if n == 0 then return {} end\n"
  "  local a = both(n - 1)\n"
  "  local b = { left(n % 3) }\n"
  "  return { a, b, both(n - 1) }\n"
  "end\n"
  "for i = 1, 20 do both(9) end\n";

static const char program_deep[] =
  "local function down(n)\n"
  "  local t = { n }\n"
  "  if n > 0 then t[2] = down(n - 1) end\n"
  "  t[3] = {}\n"
  "  return t\n"
  "end\n"
  "for _, n in ipairs { 97, 98, 99, 100, 101, 102, 150, 300 } do\n"
  "  for i = 1, 5 do down(n) end\n"
  "end\n";

static const char program_through_c[] =
  "local meta = {}\n"
  "local function new(n) return setmetatable({ n = n }, meta) end\n"
  "meta.__add = function(a, b) return new(a.n + b.n) end\n"
  "meta.__lt = function(a, b) local t = { a } return t[1].n < b.n end\n"
  "meta.__index = function(t, k) return { k } end\n"
  "meta.__newindex = function(t, k, v) rawset(t, k, { v }) end\n"
  "meta.__concat = function(a, b) return new(1) end\n"
  "meta.__call = function(self, x) return { x }, self end\n"
  "for i = 1, 200 do\n"
  "  local t = {}\n"
  "  for k = 1, 9 do t[k] = new((k * i) % 7) end\n"
  "  table.sort(t)\n"
  "  local s = (t[1] + t[2]) .. t[3]\n"
  "  s.x = t[4].y\n"
  "  local _ = s(1)\n"
  "  pcall(function() local q = { i } error(q) end)\n"
  "  xpcall(function() return pcall(new, 1) end, debug.traceback)\n"
  "  local text = 'a b c'\n"
  "  text:gsub('%w', function(c) return c .. i end)\n"
  "end\n";

static const char program_coroutines[] =
  "local function walk(n)\n"
  "  if n > 0 then walk(n - 1) coroutine.yield({ n }) walk(n - 1) end\n"
  "end\n"
  "for i = 1, 40 do\n"
  "  local sum = {}\n"
  "  for t in coroutine.wrap(function() walk(6) end) do\n"
  "    sum[#sum+1] = { t[1] }\n"
  "  end\n"
  "  if i % 10 == 0 then collectgarbage() end\n"
  "end\n";

/* Functions that come and go, so that others lie where they were, and are
** called from where they were. */
static const char program_functions_collected[] =
  "local function make(i, n)\n"
  "  local src = ('local f, i = ... %s local t = { i } '):format(\n"
  "    ('\\n'):rep(n)) .. 'if f then return { f(nil, i) } end return t'\n"
  "  return assert(load(src, '=chunk' .. i % 7))\n"
  "end\n"
  "local function new(...) return { ... } end\n"
  "collectgarbage('setpause', 50)\n"
  "for i = 1, 800 do\n"
  "  local f, g = make(i, i % 3), make(i, i % 5)\n"
  "  for k = 1, 3 do f(g, k) pcall(g, f, k) f() end\n"
  "  local callers = { caller(i), caller(i * i + i / 2) }\n"
  "  for k = 1, 9 do callers[k % 2 + 1](new, i) end\n"
  "  for k = 1, 9 do caller(k + i)(new, i) end\n"
  "  local function each(...)\n"
  "    local t = { ... }\n"
  "    return select('#', ...) > 1 and each(select(2, ...)) or t\n"
  "  end\n"
  "  each(1, 2, 3, i)\n"
  "end\n"
  "collectgarbage()\n";

static const char program_finalizers[] =
  "local function new(x) return { x } end\n"
  "local function proxy()\n"
  "  getmetatable(newproxy(true)).__gc = function() return { new(1) } end\n"
  "end\n"
  "local function work(i)\n"
  "  local a = { i }\n"
  "  local b = { a, i }\n"
  "  local c = 'c' .. i\n"
  "  local d = function() return b, c end\n"
  "  return { d }\n"
  "end\n"
  "collectgarbage('setstepmul', 1000)\n"
  "for i = 1, 3000 do proxy() work(i) end\n";

static const char program_hooks[] =
  "jit.off()\n"  /* Compiled code calls no hooks. */
  "local function hook() local t = { 1 } end\n"
  "local function work(i)\n"
  "  local a = i\n"
  "  a = a + 1\n"
  "  a = a * 2\n"
  "  return a\n"
  "end\n"
  "debug.sethook(hook, 'l')\n"
  "for i = 1, 1000 do\n"
  "  work(i)\n"
  "end\n"
  "debug.sethook()\n";

/* Tables and threads that are made whole, or grow at once, for many callers. */
static const char program_parts[] =
  "local ok, sized = pcall(require, 'table.new')\n"
  "local function hash(n) return { a = n, b = n, c = n } end\n"
  "local function array(n)\n"
  "  return { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, n }\n"
  "end\n"
  "local function both(n)\n"
  "  return { x = n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,\n"
  "    16, n }\n"
  "end\n"
  "local function empty() return {} end\n"
  "local function fill(t) t.x = 1 return t end\n"
  "local function append(t) t[1] = 1 return t end\n"
  "local function thread() return coroutine.create(hash) end\n"
  "local makers = { hash, array, both, empty, thread }\n"
  "if ok then makers[6] = function(n) return sized(n % 40, n % 20) end end\n"
  "local function odd(f, n) return (f(n)) end\n"
  "local function even(f, n) return f(n) end\n"
  "for n = 1, 3000 do\n"
  "  for i = 1, #makers do\n"
  "    local made = (n % 2 == 0 and even or odd)(makers[i], n)\n"
  "    if i ~= 5 then append(fill(made)) end\n"
  "    if i == 4 then fill(empty()) append(odd(empty)) end\n"
  "  end\n"
  "  pcall(function() error({ n = n }) end)\n"
  "end\n";

/* Tail calls, varargs, errors, calls of nil, methods, callbacks of C code. */
static const char program_calls[] =
  "local ffi = require('ffi')\n"
  "ffi.cdef[[void qsort(void *, size_t, size_t,\n"
  "  int (*)(const int *, const int *));]]\n"
  "local function new(...) return { ... } end\n"
  "local function tail(n, ...)\n"
  "  if n == 0 then return new(...) end\n"
  "  return tail(n - 1, n, { n }, ...)\n"
  "end\n"
  "local function sum(...)\n"
  "  local t = new(select('#', ...), ...)\n"
  "  return #t + (... and sum(select(2, ...)) or 0)\n"
  "end\n"
  "local object = { n = 0 }\n"
  "function object:add(k) self.n = self.n + #new(k, self) return self end\n"
  "local function handler(msg)\n"
  "  local t = {}\n"
  "  for i = 1, 60 do t[i] = { i, msg } end\n"
  "  return t\n"
  "end\n"
  "local a = ffi.new('int[20]')\n"
  "for i = 1, 120 do\n"
  "  tail(i % 20)\n"
  "  sum(1, 2, 3, i)\n"
  "  object:add(i):add({})\n"
  "  xpcall(nil, handler)\n"
  "  xpcall(function() local x = new(i) error(x) end, handler)\n"
  "  for k = 0, 19 do a[k] = (k * 79 + i) % 21 end\n"
  "  if i % 8 == 0 then\n"
  "    ffi.C.qsort(a, 20, 4, function(x, y)\n"
  "      local t = { x[0], y[0] } return t[1] - t[2] end)\n"
  "  end\n"
  "  for k, v in pairs({ new(i), new(k) }) do new(k, v) end\n"
  "end\n";

#endif
