/* A stack's key is the same whether the frames below were met before or not,
** in programs that do all that stacks can do: at every allocation, and where
** only some of them are looked at. */
#include "config.h"

#include <string.h>

#include "check_main.h"

#include "vm/prove.h"
#include "vm/where.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static lua_Alloc allocf;	/* The allocator of the VM. */
static void *allocd;
static mp_vm vm;
static mp_walk known, fresh;	/* With and without what was met before. */
static uint8_t white;
static unsigned every, dice;	/* One allocation of so many is looked at. */
static unsigned long seen, reused, wrong;

/* What the allocation sampler does when something is freed. */
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
  mp_vm_prove(&vm, L, prove);
  return 0;
}

/* Runs a program under the hook. False: the VM cannot be looked into. */
static bool run(const char *code, bool jit)
{
  lua_State *L = luaL_newstate();
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  lua_register(L, "caller", caller);
  if (!jit) ck_assert_int_eq(luaL_dostring(L, "jit.off()"), 0);
  lua_pushcfunction(L, prove);
  lua_call(L, 0, 0);
  if (!vm.proved) {
    ck_assert_ptr_nonnull(vm.why);
    lua_close(L);
    return false;
  }
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
  check("local function left(n) return n > 0 and { n, left(n - 1) } or {} end\n"
	"local function both(n)\n"
	"  if n == 0 then return {} end\n"
	"  local a = both(n - 1)\n"
	"  local b = { left(n % 3) }\n"
	"  return { a, b, both(n - 1) }\n"
	"end\n"
	"for i = 1, 20 do both(9) end\n");
}
END_TEST

START_TEST(deep)
{
  check("local function down(n)\n"
	"  local t = { n }\n"
	"  if n > 0 then t[2] = down(n - 1) end\n"
	"  t[3] = {}\n"
	"  return t\n"
	"end\n"
	"for _, n in ipairs { 97, 98, 99, 100, 101, 102, 150, 300 } do\n"
	"  for i = 1, 5 do down(n) end\n"
	"end\n");
}
END_TEST

START_TEST(through_c)
{
  check("local meta = {}\n"
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
	"end\n");
}
END_TEST

START_TEST(coroutines)
{
  check("local function walk(n)\n"
	"  if n > 0 then walk(n - 1) coroutine.yield({ n }) walk(n - 1) end\n"
	"end\n"
	"for i = 1, 40 do\n"
	"  local sum = {}\n"
	"  for t in coroutine.wrap(function() walk(6) end) do\n"
	"    sum[#sum+1] = { t[1] }\n"
	"  end\n"
	"  if i % 10 == 0 then collectgarbage() end\n"
	"end\n");
}
END_TEST

/* Functions that come and go, so that others lie where they were, and are
** called from where they were. */
START_TEST(functions_collected)
{
  check("local function make(i, n)\n"
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
	"collectgarbage()\n");
}
END_TEST

START_TEST(finalizers)
{
  check("local function new(x) return { x } end\n"
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
	"for i = 1, 3000 do proxy() work(i) end\n");
}
END_TEST

START_TEST(hooks)
{
  check("jit.off()\n"  /* Compiled code calls no hooks. */
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
	"debug.sethook()\n");
}
END_TEST

CHECK_MAIN("walk", recursion, deep, through_c, coroutines, functions_collected,
	   finalizers, hooks)
