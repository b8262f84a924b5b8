/* SPDX-License-Identifier: MIT */
/* mp_heap: every object of a Lua heap, its size, and what it refers to. That
** each has the size of its blocks of memory, and each is reached, is part of
** the proof of the layout itself. */
#include "config.h"

#include <string.h>

#include "check_main.h"

#include "data/mem.h"
#include "heapwalk/kinds.h"
#include "heapwalk/name.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"
#include "vm/variant.h"
#include "vm/vm.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static bool proved(void)
{
  const mp_heaplayout *layout = mp_heap_prove();
  if (!layout->proved) ck_assert_ptr_nonnull(layout->why);
  return layout->proved;
}

static uint8_t phase_of(lua_State *L)
{
  uint32_t alloc = mp_heap_prove()->alloc;
  return AT(uint8_t, REF(char *, L, L_GLREF), alloc + G_PHASE);
}

START_TEST(the_layout_is_proved)
{
#ifdef MP_LAYOUT
  const mp_heaplayout *layout = mp_heap_prove();
  /* Of 64 bits, and not the old layout of 32-bit references. */
  if (layout->why == NULL || strstr(layout->why, "GC64") == NULL)
    ck_assert_msg(layout->proved, "%s", layout->why);
#endif
}
END_TEST

/* -- A heap and its graph ------------------------------------------------ */

static mp_heap h;
static mp_graph g;

static lua_State *new_state(const char *code)
{
  lua_State *L = luaL_newstate();
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  if (luaL_dostring(L, code) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  return L;
}

static void look(lua_State *L)
{
  ck_assert(mp_heap_open(&h, L));
  ck_assert(mp_heap_graph(&h, &g));
  ck_assert(mp_graph_dominate(&g));
}

static void look_away(void)
{
  mp_graph_free(&g);
  mp_heap_close(&h);
}

/* The number of the object that the expression gives. */
static uint32_t number(lua_State *L, const char *expr)
{
  const char *o;
  char code[256];
  uint32_t n;
  snprintf(code, sizeof(code), "probe = %s", expr);
  ck_assert_int_eq(luaL_dostring(L, code), 0);
  lua_getglobal(L, "probe");
  o = lua_topointer(L, -1);
  if (lua_type(L, -1) == LUA_TSTRING)
    o = lua_tostring(L, -1) - mp_variant_data();
#ifdef MP_LAYOUT
  else if (lua_type(L, -1) == LUA_TUSERDATA) o -= UD_DATA;
#endif
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setglobal(L, "probe");
  n = mp_places_find(&h.places, o);
  ck_assert_msg(n != 0, "%s is not an object", expr);
  return n;
}

#define HOLDS(by, what) \
  ck_assert_uint_eq(g.holder[number(L, what)], number(L, by))

/* -- Totals -------------------------------------------------------------- */

static void add_size(void *ud, uint32_t n, const void *o)
{
  uint64_t *sum = ud;
  (void)n;
  *sum += mp_heap_size(&h, o);
}

static uint64_t rest;		/* own.rest where nothing is being made. */

static void measure(lua_State *L, mp_heapown *own)
{
  uint64_t sum = 0;
  ck_assert(mp_heap_open(&h, L));
  mp_places_each(&h.places, add_size, &sum);
  ck_assert(mp_heap_own(&h, sum, own));
  ck_assert_uint_eq(own->total, (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
		    (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0));
  mp_heap_close(&h);
}

static const char garbage[] =
  "jit.off()\n"
  "keep = {}\n"
  "function make(n)\n"
  "  for i = 1, n do\n"
  "    local t = { i, tostring(i)..'x', function() return i end }\n"
  "    t.self = setmetatable({ t }, { __mode = i % 2 == 0 and 'k' or 'v' })\n"
  "    t.co = coroutine.wrap(function() coroutine.yield(t) end)\n"
  "    t.co()\n"
  "    t.u = newproxy(true)\n"
  "    getmetatable(t.u).__gc = function() ended = (ended or 0) + 1 end\n"
  "    keep[i % 7] = t\n"
  "    table.concat({ 'a', 'b' })\n"
  "  end\n"
  "end\n"
  "make(100) collectgarbage() collectgarbage()\n";

/* The VM's own memory, which is the rest besides all objects, stays the same in
** every phase of the collector: so no object was missed, none was seen twice,
** and all have the right size. */
START_TEST(totals_add_up_in_every_phase)
{
  mp_heapown first, own;
  unsigned steps = 0, phases = 0;
  lua_State *L;
  if (!proved()) return;
  L = new_state(garbage);
  measure(L, &first);
  ck_assert_uint_gt(first.strtab, 0);
  lua_gc(L, LUA_GCSTOP, 0);
  ck_assert_int_eq(luaL_dostring(L, "make(300)"), 0);
  lua_gc(L, LUA_GCSETSTEPMUL, 1);
  do {
    measure(L, &own);
    ck_assert_uint_eq(own.rest, first.rest);
    phases |= 1u << phase_of(L);
  } while (lua_gc(L, LUA_GCSTEP, 0) == 0 && ++steps < 100000);
  ck_assert_uint_gt(steps, 100);
  ck_assert_uint_eq(phases | 1 << 2, 1 << G_PHASES >> 1 | 0x1f);
  lua_close(L);
}
END_TEST

static unsigned long hooked;

static void at_instruction(lua_State *L, lua_Debug *ar)
{
  mp_heapown own;
  (void)ar;
  measure(L, &own);
  look(L);
  look_away();
  hooked++;
}

/* A lua_Alloc that walks the heap of `walked` whenever memory is asked for. At
** that moment the heap is whole, but for the blocks of an object that is being
** made: these are counted, and not linked yet. */
static lua_State *walked;
static unsigned long allocations;

static void *walk_and_allocate(void *ud, void *p, size_t osize, size_t nsize)
{
  mp_heapown own;
  (void)ud; (void)osize;
  if (walked != NULL && nsize > 0) {
    measure(walked, &own);
    ck_assert_uint_ge(own.rest, rest);
    ck_assert_uint_lt(own.rest, rest + 500);
    look(walked);
    look_away();
    allocations++;
  }
  if (nsize > 0) return realloc(p, nsize);
  free(p);
  return NULL;
}

START_TEST(a_walk_at_every_allocation)
{
  mp_heapown own;
  lua_State *L;
  if (!proved()) return;
  L = lua_newstate(walk_and_allocate, NULL);
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  if (luaL_dostring(L, garbage) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  measure(L, &own);
  rest = own.rest;
  walked = L;
  ck_assert_int_eq(luaL_dostring(L, "make(20) collectgarbage() make(20)"), 0);
  walked = NULL;
  measure(L, &own);
  ck_assert_uint_eq(own.rest, rest);
  ck_assert_uint_gt(allocations, 500);
  lua_close(L);
}
END_TEST

START_TEST(a_walk_at_every_instruction)
{
  lua_State *L;
  if (!proved()) return;
  L = new_state(garbage);
  lua_sethook(L, at_instruction, LUA_MASKCOUNT,
	      getenv("MP_TEST_SLOW") ? 50 : 3);
  ck_assert_int_eq(luaL_dostring(L, "make(3) collectgarbage() make(3)"), 0);
  ck_assert_uint_gt(hooked, 5);
  lua_close(L);
}
END_TEST

/* -- Finalizers and phases ----------------------------------------------- */

static unsigned long finalized;

/* walk(): in a finalizer. */
static int walk_here(lua_State *L)
{
  mp_heapown own;
  measure(L, &own);
  ck_assert_uint_eq(own.rest, rest);
  look(L);
  HOLDS("new", "new[#new]");
  look_away();
  finalized++;
  return 0;
}

/* Each object comes back to life in its finalizer, which lets go of another
** one and makes a third one. */
static const char finalizers[] =
  "jit.off()\n"
  "known = { { 'known' }, function() return saved end }\n"
  "saved, old, new = { {} }, { {} }, { {} }\n"
  "local function finalize(u)\n"
  "  walk()\n"
  "  saved[#saved+1] = u\n"
  "  old[#old] = nil\n"
  "  new[#new+1] = { tostring(#saved)..'th' }\n"
  "  walk()\n"
  "end\n"
  "function make(n)\n"
  "  for i = 1, n do\n"
  "    old[i] = { i }\n"
  "    getmetatable(newproxy(true)).__gc = finalize\n"
  "  end\n"
  "end\n"
  "collectgarbage() collectgarbage()\n";

static uint64_t retained(lua_State *L, const char *what)
{
  return mp_graph_retained(&g, number(L, what));
}

START_TEST(finalizers_change_the_heap_in_every_phase)
{
  unsigned phases = 0;
  uint64_t known;
  lua_State *L;
  mp_heapown own;
  if (!proved()) return;
  L = luaL_newstate();
  luaL_openlibs(L);
  lua_register(L, "walk", walk_here);
  ck_assert_int_eq(luaL_dostring(L, finalizers), 0);
  measure(L, &own);
  rest = own.rest;
  lua_gc(L, LUA_GCSTOP, 0);
  ck_assert_int_eq(luaL_dostring(L, "make(50)"), 0);
  look(L);
  known = retained(L, "known");
  look_away();
  lua_gc(L, LUA_GCSETSTEPMUL, 1);
  do {
    phases |= 1u << phase_of(L);
    look(L);
    ck_assert_uint_eq(retained(L, "known"), known);
    HOLDS("saved", "saved[#saved]");
    look_away();
  } while (lua_gc(L, LUA_GCSTEP, 0) == 0);
  ck_assert_uint_eq(phases | 1 << 2, 1 << G_PHASES >> 1 | 0x1f);
  ck_assert_uint_eq(finalized, 100);
  ck_assert_int_eq(luaL_dostring(L, "assert(#saved == 51 and #new == 51)"), 0);
  lua_close(L);
}
END_TEST

static uint64_t everything(lua_State *L)
{
  uint64_t sum = 0;
  const uint64_t *w = REF(uint64_t *, L, L_GLREF);
  int i;
  for (i = 0; i < 40; i++) sum = sum * 31 + w[i];
  return sum;
}

START_TEST(the_walk_changes_nothing)
{
  uint64_t before;
  lua_State *L;
  if (!proved()) return;
  L = new_state(garbage);
  lua_gc(L, LUA_GCSTOP, 0);
  before = everything(L);
  look(L);
  look_away();
  ck_assert_uint_eq(everything(L), before);
  lua_close(L);
}
END_TEST

/* -- Who holds what ------------------------------------------------------ */

static const char things[] =
  "jit.off()\n"
  "a = { name = 'a long string that only a holds' }\n"
  "b = { shared = {}, next = {} } c = { shared = b.shared }\n"
  "b.next.back = b\n"
  "weakv = setmetatable({ {} }, { __mode = 'v' })\n"
  "weakk = setmetatable({}, { __mode = 'k' })\n"
  "local key = {} weakk[key] = { key } key = nil\n"
  "do local up = { 'an upvalue' } f = function() return up end end\n"
  "co = coroutine.create(function(x)\n"
  "  local mine = { x } shown = function() return mine end\n"
  "  coroutine.yield() end)\n"
  "coroutine.resume(co, { 'argument' })\n"
  "u = newproxy(true) getmetatable(u).t = {}\n"
  "env = { setmetatable({}, { __index = {} }) }\n"
  "fenv = setfenv(function() end, { 'environment' })\n"
  "colo = { {}, {}, {} } for i = 4, 50 do colo[i] = {} end\n";

static void check_values(lua_State *L)
{
  HOLDS("a", "a.name");
  HOLDS("b", "b.next");
  HOLDS("_G", "b.shared");
  HOLDS("colo", "colo[1]");
  HOLDS("colo", "colo[50]");
  HOLDS("u", "getmetatable(u)");
  HOLDS("getmetatable(u)", "getmetatable(u).t");
  HOLDS("getmetatable(env[1])", "getmetatable(env[1]).__index");
  HOLDS("fenv", "getfenv(fenv)");
}

START_TEST(holders_of_all_kinds_of_references)
{
  uint32_t up, mine;
  lua_State *L;
  if (!proved()) return;
  L = new_state(things);
  lua_gc(L, LUA_GCSTOP, 0);
  look(L);
  check_values(L);
  up = number(L, "f()");  /* Held by the upvalue, which the function holds. */
  ck_assert_uint_eq(g.holder[g.holder[up]], number(L, "f"));
  mine = number(L, "shown()");  /* The open upvalue, and the coroutine. */
  ck_assert(mp_graph_reached(&g, mine));
  look_away();
  lua_close(L);
}
END_TEST

START_TEST(weak_references_hold_nothing)
{
  lua_State *L;
  if (!proved()) return;
  L = new_state(things);
  lua_gc(L, LUA_GCSTOP, 0);
  look(L);
  ck_assert(!mp_graph_reached(&g, number(L, "weakv[1]")));
  /* There are no ephemerons: the value holds its key. */
  HOLDS("weakk", "select(2, next(weakk))");
  HOLDS("select(2, next(weakk))", "(next(weakk))");
  look_away();
  lua_close(L);
}
END_TEST

START_TEST(garbage_is_not_reached)
{
  uint64_t before, after;
  lua_State *L;
  if (!proved()) return;
  L = new_state("jit.off() collectgarbage() collectgarbage('stop')");
  look(L);
  before = mp_graph_retained(&g, 0);
  look_away();
  ck_assert_int_eq(luaL_dostring(L, "for i = 1, 1000 do local t = { {} } end"),
		   0);
  look(L);
  after = mp_graph_retained(&g, 0);
  look_away();
  /* The chunk is garbage, too; strings of it may be new. */
  ck_assert_uint_lt(after - before, 1000);
  lua_close(L);
}
END_TEST

START_TEST(what_a_trace_holds)
{
  static const char code[] =
    "local big = { ('x'):rep(10000) }\n"
    "local n = 0\n"
    "for i = 1, 1000 do n = n + #big end\n"
    "big = nil\n";
  lua_State *L;
  uint32_t i, traces = 0;
  if (!proved()) return;
  L = new_state(code);
  look(L);
  for (i = 1; i < g.n; i++)
    if (strcmp(mp_heap_type(mp_places_address(&h.places, i)), "trace") == 0)
      traces++;
  ck_assert_uint_gt(traces, 0);
  look_away();
  lua_close(L);
}
END_TEST

START_TEST(no_memory_is_said)
{
  mp_heapslots slots = { 0, 0, 0, 0 };
  mp_heapkinds kinds = { NULL, 0, 0 };
  bool ok = false;
  int left;
  lua_State *L;
  if (!proved()) return;
  L = new_state(things);
  for (left = 0; !ok; left++) {
    mp_mem_left = left;
    ok = mp_heap_open(&h, L);
    ok = ok && mp_heap_graph(&h, &g);
    if (ok) {
      ok = mp_graph_dominate(&g) && mp_heapkinds_find(&kinds, &h, &g, &slots);
      mp_heapkinds_free(&kinds);
      mp_graph_free(&g);
    }
    mp_mem_left = -1;
    mp_heap_close(&h);
  }
  ck_assert_int_gt(left, 20);
  lua_close(L);
}
END_TEST

CHECK_MAIN("heap", the_layout_is_proved, totals_add_up_in_every_phase,
	   a_walk_at_every_allocation, a_walk_at_every_instruction,
	   finalizers_change_the_heap_in_every_phase, the_walk_changes_nothing,
	   holders_of_all_kinds_of_references, weak_references_hold_nothing,
	   garbage_is_not_reached, what_a_trace_holds, no_memory_is_said)
