/* SPDX-License-Identifier: MIT */
/* The identity of code: the same before and after it was compiled, by whatever
** kind of trace, and another one for other code. */
#include "config.h"

#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/code.h"
#include "vm/layout.h"

#ifdef MP_LAYOUT

/* The identity of the function on top of the stack, which is not remembered. */
static uint64_t code_of_top(mp_vm *vm, lua_State *L)
{
  const char *fn = lua_topointer(L, -1);
  mp_codes codes = { .count = 0 };
  mp_code code = mp_codes_get(&codes, vm, func_proto(fn));
  mp_codes_free(&codes);
  ck_assert_uint_ne(code.code, 0);
  return code.code;
}

/* A chunk returns a function, whose identity is taken before and after calls
** with that number. A few are made: not all of them have the same traces. */
static void check(const char *text, int n)
{
  mp_vm vm;
  lua_State *L = check_open(&vm, true);
  uint64_t first = 0;
  int i, k;
  if (L == NULL) return;
  for (i = 0; i < 10; i++) {
    uint64_t code;
    if (luaL_dostring(L, text) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
    code = code_of_top(&vm, L);
    if (i == 0) first = code;
    ck_assert_uint_eq(code, first);
    for (k = 0; k < 100; k++) {
      lua_pushvalue(L, -1);
      lua_pushinteger(L, n);
      lua_call(L, 1, 0);
      ck_assert_uint_eq(code_of_top(&vm, L), code);
    }
    lua_pop(L, 1);
  }
  lua_close(L);
}

START_TEST(recursion_that_returns)
{
  check("local function fib(n)\n"
	"  if n < 2 then return n end return fib(n - 1) + fib(n - 2)\n"
	"end return fib", 15);
  check("local function fib(n) if n < 2 then return n end\n"
	"  local a, b, c = n, n, n return fib(n - 1) + fib(n - 2), a, b, c\n"
	"end return fib", 15);
}
END_TEST

START_TEST(loops)
{
  check("return function(n) local s = 0 for i = 1, n do s = s + i end\n"
	"  while n > 0 do n = n - 1 end repeat s = s - 1 until s < 9\n"
	"  for k in pairs { 1, 2, 3 } do s = s + k end\n"
	"  for k in ipairs { 1, 2, 3 } do s = s + k end return s end", 99);
}
END_TEST

START_TEST(tail_calls)
{
  check("local function down(n, ...)\n"
	"  if n == 0 then return ... end return down(n - 1, n) end\n"
	"return down", 200);
}
END_TEST

START_TEST(other_code)
{
  static const char *const texts[] = {
    "return function(a, b) return a end", "return function(a, b) return b end",
    "return function(a, b) return 1 end", "return function(a, b) return 2 end",
    "return function(a, b) for i = 1, 2 do end return a end",
    "return function(a, c) return a end", "return function(a, b)\nreturn a end"
  };
  enum { COUNT = sizeof(texts) / sizeof(texts[0]) };
  uint64_t codes[COUNT];
  mp_vm vm;
  lua_State *L = check_open(&vm, true);
  int i, k;
  if (L == NULL) return;
  for (i = 0; i < COUNT; i++) {
    if (luaL_dostring(L, texts[i]) != 0)
      ck_abort_msg("%s", lua_tostring(L, -1));
    codes[i] = code_of_top(&vm, L);
    for (k = 0; k < i; k++) ck_assert_uint_ne(codes[k], codes[i]);
  }
  lua_close(L);
}
END_TEST

#else

START_TEST(recursion_that_returns) { (void)check_open; } END_TEST
START_TEST(loops) {} END_TEST
START_TEST(tail_calls) {} END_TEST
START_TEST(other_code) {} END_TEST

#endif

CHECK_MAIN("code", recursion_that_returns, loops, tail_calls, other_code)
