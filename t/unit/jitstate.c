/* SPDX-License-Identifier: MIT */
/* The compiler's state: what a private state shows of it holds in another. */
#include "config.h"

#include <string.h>
#include <sys/resource.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/jitstate.h"
#include "vm/layout.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

static lua_State *open(mp_vm *vm)
{
  lua_State *L = check_open(vm, true);
  if (L != NULL) mp_jitstate_learn();
  return L;
}

static int32_t param(const mp_vm *vm, const char *name)
{
  int i;
  for (i = 0; i < MP_JIT_PARAMS; i++) {
    int32_t value;
    const char *s = mp_jitstate_param(vm, i, &value);
    if (s != NULL && strcmp(s, name) == 0) return value;
  }
  return -1;
}

static void run(lua_State *L, const char *text)
{
  if (luaL_dostring(L, text) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
}

START_TEST(parameters)
{
  mp_vm vm;
  lua_State *L = open(&vm);
  if (L == NULL) return;
  ck_assert_int_eq(param(&vm, "hotloop"), 56);
  run(L, "jit.opt.start('hotloop=77', 'maxmcode=1024', "
	 "'sizemcode=128')");
  ck_assert_int_eq(param(&vm, "hotloop"), 77);
  ck_assert_int_eq(param(&vm, "maxmcode"), 1024);
  ck_assert_int_eq(param(&vm, "sizemcode"), 128);
  lua_close(L);
}
END_TEST

START_TEST(traces)
{
  mp_vm vm;
  mp_jittrace t;
  lua_State *L = open(&vm);
  if (L == NULL) return;
  ck_assert(mp_jitstate_traces());
  run(L, "local s = 0\n\nfor i = 1, 1000 do\n"
	 "  if i % 300 == 0 then s = s + 1 end\nend");
  ck_assert(mp_jitstate_trace(&vm, 1, &t));
  ck_assert_uint_eq(t.root, 0);
  ck_assert_uint_eq(t.link, 1);
  ck_assert_str_eq(t.ends, "loop");
  ck_assert_int_eq(mp_jitstate_line(t.proto, t.pos), 3);
  ck_assert_uint_eq(t.taken, 4);
  ck_assert_uint_eq(t.times, 3);
  ck_assert(!mp_jitstate_trace(&vm, 2, &t));
  lua_close(L);
}
END_TEST

static void call(lua_State *L, int n)
{
  lua_pushvalue(L, -1);
  lua_pushinteger(L, n);
  lua_call(L, 1, 0);
}

/* A loop that is given up, and then for good. */
START_TEST(given_up)
{
  mp_vm vm;
  mp_penalties p = { .live = true };
  mp_penalty list[MP_PENALTIES];
  lua_State *L = open(&vm);
  const char *pt;
  uint32_t i, pos = 0, found = 0;
  bool loop;
  if (L == NULL) return;
  ck_assert(mp_jitstate_penalties());
  if (luaL_loadstring(L, "local n = ...\nfor i = 1, n do\n"
			 "  local f = function() return i end\nend") != 0)
    ck_abort();
  pt = func_proto(lua_topointer(L, -1));
  call(L, 200);
  mp_jitstate_read(&vm, &p);
  for (i = 0; i < MP_PENALTIES; i++)
    if (mp_jitstate_pos(pt, p.list[i].pc, &pos)) {
      ck_assert(mp_jitstate_starts(pt, pos));
      ck_assert_int_eq(mp_jitstate_line(pt, pos), 2);
      found++;
    }
  ck_assert_uint_eq(found, 1);
  pos = 0;
  ck_assert(!mp_jitstate_blacklisted(pt, &pos, &loop));
  call(L, 200000);
  pos = 0;
  ck_assert(mp_jitstate_blacklisted(pt, &pos, &loop));
  ck_assert(loop);
  ck_assert_int_eq(mp_jitstate_line(pt, pos), 2);
  mp_jitstate_freed(&vm, &p, pt, AT(const uint32_t, pt, PT_SIZE));
  mp_jitstate_read_alive(&vm, &p, list);
  for (i = 0; i < MP_PENALTIES; i++)
    ck_assert(!mp_jitstate_pos(pt, list[i].pc, &pos) &&
	      !mp_jitstate_pos(pt, p.list[i].pc, &pos));
  lua_close(L);
}
END_TEST

/* Without memory for the private state nothing is shown: nothing is read. */
START_TEST(nothing_shown)
{
  mp_vm vm;
  mp_jittrace t;
  mp_penalties p = { .live = true };
  struct rlimit limit, none;
  int bytecode = 1, off = 1;
  uint32_t i;
  lua_State *L = check_open(&vm, true), *other;
  if (L == NULL || mp_jitstate_penalties()) return;
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
  none = limit;
  none.rlim_cur = 0;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
  other = luaL_newstate();
  if (other == NULL) mp_jitstate_learn();
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
  if (other != NULL) return;  /* Memory that it had was enough. */
  mp_jitstate_learn();
  ck_assert(!mp_jitstate_penalties() && !mp_jitstate_traces());
  mp_jitstate_reasons(&bytecode, &off);
  ck_assert(bytecode == 0 && off == 0);
  ck_assert_int_eq(param(&vm, "hotloop"), -1);
  run(L, "for k = 1, 200 do for i = 1, 99 do local f = function() end end end\n"
	 "local s = 0 for i = 1, 1000 do s = s + i end");
  ck_assert(!mp_jitstate_trace(&vm, 1, &t));
  mp_jitstate_read(&vm, &p);
  for (i = 0; i < MP_PENALTIES; i++) ck_assert(p.list[i].pc == 0);
  lua_close(L);
}
END_TEST

#else

START_TEST(parameters) { (void)check_open; } END_TEST
START_TEST(nothing_shown) {} END_TEST
START_TEST(traces) {} END_TEST
START_TEST(given_up) {} END_TEST

#endif

CHECK_MAIN("jitstate", nothing_shown, parameters, traces, given_up)
