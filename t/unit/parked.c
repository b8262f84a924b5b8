/* SPDX-License-Identifier: MIT */
/* The stack of a coroutine that has yielded is read from outside, whatever the
** coroutine has called; one that runs, or has ended, is not read. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check_fiber.h"
#include "check_main.h"
#include "check_vm.h"

#include "data/mem.h"
#include "vm/parked.h"
#include "vm/view.h"
#include "vm/walk.h"

static mp_vm vm;
static mp_parked parked;
static mp_parkedview shown;

static int park(lua_State *L) { return lua_yield(L, lua_gettop(L)); }

/* read(co): its frames, the top one first: a line, or 0 for a C function; or
** nothing. */
static int read_it(lua_State *L)
{
  mp_view *v;
  mp_walk *walk;
  uint32_t below;
  bool cut;
  mp_where w;
  int i, n;
  uintptr_t sp = (uintptr_t)lua_tonumber(L, 2);
  if (!mp_parked_read(&vm, lua_tothread(L, 1), sp, &parked)) return 0;
  v = mp_calloc(1, sizeof(*v));
  walk = mp_calloc(1, sizeof(*walk));
  ck_assert(v != NULL && walk != NULL);
  mp_parked_show(&shown, &vm, parked.frames, parked.n, &parked.at, &w);
  n = mp_view_frames(v, &vm, walk, &w, &below, &cut);
  ck_assert_int_gt(n, 0);
  lua_newtable(L);
  for (i = 0; i < n; i++) {
    const char *name;
    int line = mp_view_info(v, &v->frames[i], &name);
    lua_pushnumber(L, line > 0 ? line : 0);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushboolean(L, parked.cut);
  mp_view_free(v);
  mp_free(v);
  mp_walk_free(walk);
  mp_free(walk);
  return 2;
}

static const char places[] =
  "local function has(co, ...)\n"
  "  local t, cut = read(co)\n"
  "  assert(t, 'not read')\n"
  "  for i = 1, select('#', ...) do\n"
  "    local want = select(i, ...)\n"
  "    assert(t[i] == want, i .. ': ' .. tostring(t[i]))\n"
  "  end\n"
  "  assert(cut or #t == select('#', ...), #t)\n"
  "  return cut\n"
  "end\n"
  "local function yield(...)\n"
  "  return (coroutine.yield(...))\n"  /* 12 */
  "end\n"
  "local co = coroutine.create(function(...)\n"
  "  yield(1)\n"  /* 15 */
  "  local x = park(2)\n"
  "  pcall(yield, 3)\n"
  "  local t = setmetatable({}, { __index = function() return (yield()) end "
  "})\n"
  "  x = t.field\n"
  "  x = (function(...) return (yield(...)) end)(1, 2, 3)\n"
  "  local function deep(n) if n == 0 then yield() else deep(n - 1) x = n end "
  "end\n"
  "  deep(5)\n"
  "  deep(100)\n"
  "end)\n"
  "assert(not read(co))\n"
  "local resume = function() assert(coroutine.resume(co)) end\n"
  "resume() has(co, 0, 12, 15)\n"
  "resume() has(co, 0, 16)\n"
  "resume() has(co, 0, 12, 0, 17)\n"
  "resume() has(co, 0, 12, 18, 19)\n"
  "resume() has(co, 0, 12, 20, 20)\n"
  "resume() has(co, 0, 12, 21, 21, 21, 21, 21, 21, 22)\n"
  "resume() assert(has(co, 0, 12, 21, 21))\n"
  "resume() assert(not read(co))\n"
  "co = coroutine.create(function() error('x') end)\n"
  "coroutine.resume(co)\n"
  "assert(not read(co))\n"
  "co = coroutine.wrap(function() return read(coroutine.running()) end)\n"
  "assert(not co())\n";

START_TEST(all_places)
{
  lua_State *L = check_open(&vm, true);
  if (L == NULL) return;
  ck_assert(mp_parked_prove(&vm, L));
  lua_register(L, "park", park);
  lua_register(L, "read", read_it);
  if (luaL_dostring(L, places) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  ck_assert(!mp_parked_read(&vm, NULL, 0, &parked));
  ck_assert(!mp_parked_read(&vm, (lua_State *)shown.stack, 0,
			    &parked));
  lua_close(L);
}
END_TEST

/* Another thread reads what runs, is freed and made again. */
static _Atomic(lua_State *) target;
static atomic_bool over;
static atomic_ulong nread, nbad;

static void *reader(void *arg)
{
  static mp_parked p;
  (void)arg;
  while (!over) {
    uint32_t i;
    if (!mp_parked_read(&vm, target, 0, &p)) continue;
    nread++;
    if (p.n < 2 || p.frames[0].ffid == 0) nbad++;
    for (i = 1; i < p.n; i++)
      if (p.frames[i].ffid != 0) nbad++;
  }
  return NULL;
}

static int set_target(lua_State *L)
{
  target = lua_tothread(L, 1);
  return 0;
}

static const char moving[] =
  "local function deep(n)\n"
  "  if n > 0 then deep(n - 1) end\n"
  "  coroutine.yield()\n"
  "  return n\n"
  "end\n"
  "for i = 1, 3000 do\n"
  "  local co = coroutine.create(deep)\n"
  "  target(co)\n"
  "  while coroutine.resume(co, i % 9) do end\n"
  "end\n";

START_TEST(while_it_runs)
{
  lua_State *L = check_open(&vm, true);
  pthread_t t;
  if (L == NULL) return;
  lua_register(L, "target", set_target);
  target = L;
  over = false;
  ck_assert_int_eq(pthread_create(&t, NULL, reader, NULL), 0);
  if (luaL_dostring(L, moving) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  over = true;
  pthread_join(t, NULL);
  ck_assert_uint_eq(nbad, 0);
  lua_close(L);
}
END_TEST

static int here(lua_State *L)
{
  lua_pushnumber(L, (double)(uintptr_t)__builtin_frame_address(0));
  return 1;
}

/* ison(co, sp) */
static int is_on(lua_State *L)
{
  uintptr_t sp = (uintptr_t)lua_tonumber(L, 2);
  lua_pushboolean(L, mp_parked_ison(lua_tothread(L, 1), sp));
  return 1;
}

static const char stacks[] =
  "local function top(co, line, sp)\n"
  "  local t = read(co, sp)\n"
  "  return t and t[1] == 0 and t[2] == line\n"
  "end\n"
  "local b, inner\n"
  "local a = fiber(function()\n"
  "  assert(ison(coroutine.running(), here()))\n"
  "  leave()\n"  /* 8 */
  "end)\n"
  "assert(not read(a))\n"
  "enter(1)\n"
  "assert(top(a, 8) and top(a, 8, here()))\n"
  "assert(not ison(a, here()))\n"
  "b = fiber(function()\n"
  "  assert(top(a, 8) and not ison(a, here()))\n"
  /* One that resumes another does not wait. */
  "  inner = coroutine.create(function()\n"
  "    assert(top(a, 8) and not read(b) and not read(inner))\n"
  "    leave()\n"  /* 18 */
  "    coroutine.yield()\n"
  "  end)\n"
  "  resume(inner)\n"
  "  assert(not top(inner, 18) and read(inner))\n"
  "  return 1\n"
  "end)\n"
  "enter(2)\n"
  "assert(top(a, 8) and top(inner, 18))\n"
  "enter(2)\n"
  "assert(top(a, 8) and not read(b))\n"
  "enter(1)\n"
  "assert(not read(a))\n"
  "ended = fiber(function() end)\n"
  "left = fiber(function() leave() end)\n";

/* resume(co): as coroutine.resume, in C. */
static int resume(lua_State *L)
{
  lua_State *co = lua_tothread(L, 1);
  if (lua_resume(co, 0) > LUA_YIELD)
    ck_abort_msg("%s", lua_tostring(co, -1));
  return 0;
}

static void enter(lua_State *L, int i)
{
  lua_settop(L, 0);
  lua_pushnumber(L, i);
  check_fiber_enter(L);
}

START_TEST(on_other_stacks)
{
#ifndef CHECK_NOFIBERS
  lua_State *L = check_open(&vm, false), *left;
  uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
  if (L == NULL) return;
  lua_register(L, "read", read_it);
  lua_register(L, "here", here);
  lua_register(L, "ison", is_on);
  lua_register(L, "resume", resume);
  check_fiber_open(L);
  if (luaL_dostring(L, stacks) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  /* No Lua function runs, and the coroutine that ran last has ended, or is the
  ** one that has left. */
  lua_getglobal(L, "left");
  left = lua_tothread(L, -1);
  enter(L, 4);
  ck_assert(!mp_parked_read(&vm, left, sp, &parked));
  ck_assert(!mp_parked_ison(left, sp));
  enter(L, 3);
  ck_assert(mp_parked_read(&vm, left, sp, &parked));
  ck_assert(mp_parked_inc(&parked));
  ck_assert(!mp_parked_read(&vm, left, 0, &parked));
  enter(L, 4);
  ck_assert(!mp_parked_read(&vm, left, sp, &parked));
  lua_close(L);
#endif
}
END_TEST

CHECK_MAIN("parked", all_places, while_it_runs, on_other_stacks)
