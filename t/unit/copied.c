/* SPDX-License-Identifier: MIT */
/* mp_copied: a heap of which nothing is known but its memory. A heap of this
** process is a copy of itself. */
#include "config.h"

#include <string.h>

#include "check_main.h"

#include "heapwalk/copied.h"
#include "heapwalk/edge.h"
#include "heapwalk/name.h"
#include "heapwalk/prove.h"
#include "vm/variant.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#ifdef MP_LAYOUT

static const char program[] =
  "local function work(n)\n"
  "  local list = {}\n"
  "  for i = 1, n do list[i] = { i, name = 'entry '..i } end\n"
  "  return list\n"
  "end\n"
  "list = work(200)\n"
  "keyed, weak = {}, setmetatable({}, { __mode = 'k' })\n"
  "for i = 1, 100 do keyed['key'..i] = i end\n"
  "proxy = newproxy(true)\n"
  "getmetatable(proxy).__gc = function() end\n"
  "co = coroutine.create(function(...)\n"
  "  local kept = { ... }\n"
  "  coroutine.yield(function() return kept end)\n"
  "end)\n"
  "resumed, closure = coroutine.resume(co, 1, {})\n"
  "local ok, ffi = pcall(require, 'ffi')\n"
  "if ok then data = ffi.new('int[10]') end\n";

static lua_State *L;
static mp_copied c;
static mp_heaplayout l;
static mp_arena arena;
static mp_heap h;
static mp_graph g;

/* False: this LuaJIT's heap cannot be walked from outside. */
static bool open_state(void)
{
  const mp_heaplayout *known = mp_heap_prove();
  char *state;
  void *ud;
  L = luaL_newstate();
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  if (luaL_dostring(L, program) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCSTOP, 0);
  memset(&c, 0, sizeof(c));
  c.allocf = (uintptr_t)lua_getallocf(L, &ud);
  if (!known->proved || !mp_arena_look(lua_getallocf(L, &ud), ud, &arena)) {
    lua_close(L);
    return false;
  }
  state = REF(char *, L, L_GLREF);
  c.mainl = (uintptr_t)L;
  c.g = (uintptr_t)state;
  c.running = c.g + known->curl;
  c.variant = mp_variant_prev() == 0;
  c.vmstate = c.g + known->tmpbuf - VMSTATE_TMPBUF;
  c.bytes = UINT64_C(1) << 30;
  return true;
}

static const char *look(void)
{
  const char *why = mp_copied_open(&c, &l, &arena);
  if (why == NULL) why = mp_copied_find(&h, &c, &l);
  if (why != NULL) return why;
  ck_assert(mp_heap_graph(&h, &g));
  ck_assert(mp_graph_dominate(&g));
  return mp_copied_check(&h, &g);
}

static void look_away(void)
{
  mp_graph_free(&g);
  mp_heap_close(&h);
}

/* The object that the expression gives. */
static char *object(const char *expr)
{
  char code[256], *o;
  snprintf(code, sizeof(code), "probe = %s", expr);
  if (luaL_dostring(L, code) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  lua_getglobal(L, "probe");
  o = (char *)(uintptr_t)lua_topointer(L, -1);
  if (lua_type(L, -1) == LUA_TSTRING)
    o = (char *)(uintptr_t)lua_tostring(L, -1) - mp_variant_data();
  lua_pop(L, 1);
  return o;
}

/* -- True heaps ---------------------------------------------------------- */

START_TEST(the_layout_is_the_one_that_is_proved)
{
  const mp_heaplayout *known = mp_heap_prove();
  if (!open_state()) return;
  ck_assert_ptr_null(mp_copied_open(&c, &l, &arena));
  ck_assert(l.proved);
  ck_assert_uint_eq(l.curl, known->curl);
  ck_assert_uint_eq(l.jitbase, known->jitbase);
  ck_assert_uint_eq(l.strtab, known->strtab);
  ck_assert_uint_eq(l.tmpbuf, known->tmpbuf);
  ck_assert_uint_eq(l.alloc, known->alloc);
  ck_assert_uint_eq(l.roots, known->roots);
  ck_assert_uint_eq(l.len, known->len);
  ck_assert_uint_eq(l.data, known->data);
  ck_assert_uint_eq(l.bufword, known->bufword);
  ck_assert_uint_eq(l.round, known->round);
  ck_assert_uint_eq(l.mainl, known->mainl);
  ck_assert_uint_eq(l.registry, known->registry);
  ck_assert_uint_eq(l.names, known->names);
  lua_close(L);
}
END_TEST

START_TEST(a_heap_is_one)
{
  int i;
  if (!open_state()) return;
  for (i = 0; i < 3; i++) {
    const char *why = look();
    ck_assert_msg(why == NULL, "%s", why);
    ck_assert_uint_gt(h.places.count, 1000);
    look_away();
    ck_assert_int_eq(luaL_dostring(L, "for i = 1, 1e4 do list[i] = { i } end"),
		     0);
    if (i == 1) lua_gc(L, LUA_GCRESTART, 0);
  }
  lua_close(L);
}
END_TEST

/* -- Others -------------------------------------------------------------- */

/* Memory that is changed, and what was there. */
static struct { void *p; size_t n; char was[16]; } changed;

static void forge(void *p, const void *value, size_t n)
{
  changed.p = p;
  changed.n = n;
  memcpy(changed.was, p, n);
  memcpy(p, value, n);
}

static void forge_ref(char *p, uint32_t ofs, const void *to)
{
  gcref ref = (gcref)(uintptr_t)to;
  forge(p + ofs, &ref, sizeof(ref));
}

static void forge_u32(char *p, uint32_t ofs, uint32_t to)
{
  forge(p + ofs, &to, sizeof(to));
}

/* The forgery is seen, and was all that was wrong. */
static void refuses(void)
{
  const char *why = look();
  look_away();
  memcpy(changed.p, changed.was, changed.n);
  ck_assert_ptr_nonnull(why);
  why = look();
  look_away();
  ck_assert_msg(why == NULL, "afterwards: %s", why);
  lua_close(L);
}

static char *of_g(uint32_t ofs) { return (char *)(uintptr_t)c.g + ofs; }

START_TEST(a_list_without_end)
{
  char *o;
  if (!open_state()) return;
  o = object("keyed");
  forge_ref(o, OBJ_NEXT, REF(char *, of_g(mp_heap_prove()->alloc), G_ROOT));
  refuses();
}
END_TEST

START_TEST(a_ring_that_leads_into_another)
{
  char *last, *o;
  if (!open_state()) return;
  last = of_g(mp_heap_prove()->alloc) + G_MMUDATA;
  o = object("keyed");
  ck_assert_ptr_null(REF(char *, last, 0));
  forge_ref(o, OBJ_NEXT, o);
  *(gcref *)(void *)last = (gcref)(uintptr_t)object("list");
  ck_assert_ptr_nonnull(look());
  look_away();
  *(gcref *)(void *)last = 0;
  refuses();
}
END_TEST

START_TEST(a_chain_of_strings_without_end)
{
  char *o;
  if (!open_state()) return;
  o = object("list[7].name");
  forge_ref(o, OBJ_NEXT, o);
  refuses();
}
END_TEST

START_TEST(open_upvalues_without_end)
{
  char *up;
  if (!open_state()) return;
  up = REF(char *, object("co"), L_OPENUPVAL);
  ck_assert_ptr_nonnull(up);
  forge_ref(up, OBJ_NEXT, up);
  refuses();
}
END_TEST

START_TEST(segments_without_end)
{
  char *ud;
  if (!open_state()) return;
  ud = AT(char *, of_g(mp_heap_prove()->alloc), G_ALLOCD) + ARENA_SEGMENT;
  forge(ud + SEG_NEXT, &ud, sizeof(ud));
  refuses();
}
END_TEST

START_TEST(frames_without_end)
{
  char text[MP_LABEL_MAX], *co;
  slot *f, link = LINK_C;
  if (!open_state()) return;
  co = object("co");
  f = AT(slot *, co, L_BASE) - 1;
  ck_assert(f > frame_bottom(co));
#if FRAME_FUNC != 0
  forge(f, &link, sizeof(link));  /* The frame below it is itself. */
#else
  forge_u32((char *)f, 4, (uint32_t)link);
#endif
  look();
  mp_heap_describe(co, text, sizeof(text));
  ck_assert_int_eq(strncmp(text, "thread", 6), 0);
  look_away();
  memcpy(changed.p, changed.was, changed.n);
  lua_close(L);
}
END_TEST

START_TEST(more_objects_than_there_is_memory)
{
  if (!open_state()) return;
  ck_assert_ptr_null(look());
  c.bytes = ((uint64_t)h.places.count - 1) * CHUNK_MIN;
  look_away();
  ck_assert_ptr_nonnull(mp_copied_find(&h, &c, &l));
  ck_assert(h.endless);
  mp_heap_close(&h);
  lua_close(L);
}
END_TEST

START_TEST(tables_that_are_larger_than_their_blocks)
{
  char *o;
  if (!open_state()) return;
  o = object("list");
  forge_u32(o, TAB_ASIZE, AT(uint32_t, o, TAB_ASIZE) + 100);
  refuses();
  if (!open_state()) return;
  o = object("keyed");
  forge_u32(o, TAB_HMASK, AT(uint32_t, o, TAB_HMASK) * 2 + 1);
  refuses();
}
END_TEST

/* Its size is in the word before it, which is forged, too. */
START_TEST(a_table_that_is_larger_than_the_memory)
{
  char *o, *array;
  uintptr_t size;
  if (!open_state()) return;
  o = object("list");
  array = REF(char *, o, TAB_ARRAY);
  size = AT(uintptr_t, array, CHUNK_HEAD - CHUNK_DATA);
  AT(uintptr_t, array, CHUNK_HEAD - CHUNK_DATA) =
    (((uintptr_t)1 << 24) + 16) | (size & CHUNK_BITS);
  forge_u32(o, TAB_ASIZE, 1 << 21);
  ck_assert_ptr_null(mp_copied_find(&h, &c, mp_heap_prove()));
  mp_heap_close(&h);
  c.bytes = UINT64_C(1) << 24;
  ck_assert_ptr_nonnull(mp_copied_find(&h, &c, mp_heap_prove()));
  mp_heap_close(&h);
  AT(uintptr_t, array, CHUNK_HEAD - CHUNK_DATA) = size;
  memcpy(changed.p, changed.was, changed.n);
  lua_close(L);
}
END_TEST

START_TEST(an_object_of_no_type)
{
  char type = 42;
  if (!open_state()) return;
  forge(object("keyed") + OBJ_GCT, &type, 1);
  refuses();
}
END_TEST

START_TEST(a_thread_that_is_above_its_stack)
{
  char *co, *top;
  if (!open_state()) return;
  co = object("co");
  top = REF(char *, co, L_STACK) +
	((size_t)AT(uint32_t, co, L_STACKSIZE) + 1) * sizeof(slot);
  forge(co + L_TOP, &top, sizeof(top));
  refuses();
}
END_TEST

START_TEST(constants_before_their_prototype)
{
  char *pt;
  if (!open_state()) return;
  pt = (char *)(uintptr_t)
       func_proto(object("getmetatable(proxy).__gc"));
  forge_u32(pt, PT_SIZEKGC, AT(uint32_t, pt, PT_SIZEKGC) + 1000);
  refuses();
}
END_TEST

START_TEST(a_reference_to_no_object)
{
  slot v;
  if (!open_state()) return;
  v = AT(slot, REF(char *, object("list"), TAB_ARRAY), 5 * sizeof(slot)) + 8;
  forge(REF(char *, object("list"), TAB_ARRAY) + 5 * sizeof(slot), &v,
	sizeof(v));
  refuses();
}
END_TEST

START_TEST(other_strings_than_the_VM_counts)
{
  char *table;
  if (!open_state()) return;
  table = of_g(mp_heap_prove()->strtab) + STRTAB_MASK + 4;
  forge_u32(table, 0, AT(uint32_t, table, 0) + 1);
  refuses();
}
END_TEST

START_TEST(another_allocator)
{
  if (!open_state()) return;
  c.allocf++;
  ck_assert_ptr_nonnull(look());
  lua_close(L);
}
END_TEST

START_TEST(a_state_that_is_none)
{
  if (!open_state()) return;
  c.mainl += 8;
  ck_assert_ptr_nonnull(mp_copied_open(&c, &l, &arena));
  c.mainl -= 8;
  c.running += 16;  /* Tarantool's VM has another thread in between. */
  ck_assert_ptr_nonnull(mp_copied_open(&c, &l, &arena));
  lua_close(L);
}
END_TEST

CHECK_MAIN("copied", the_layout_is_the_one_that_is_proved, a_heap_is_one,
	   a_list_without_end, a_ring_that_leads_into_another,
	   a_chain_of_strings_without_end, open_upvalues_without_end,
	   segments_without_end, frames_without_end,
	   more_objects_than_there_is_memory,
	   tables_that_are_larger_than_their_blocks,
	   a_table_that_is_larger_than_the_memory, an_object_of_no_type,
	   a_thread_that_is_above_its_stack, constants_before_their_prototype,
	   a_reference_to_no_object, other_strings_than_the_VM_counts,
	   another_allocator, a_state_that_is_none)

#else

START_TEST(no_layout_is_known)
{
  mp_heaplayout l;
  mp_copied c;
  mp_arena a;
  memset(&c, 0, sizeof(c));
  ck_assert_ptr_nonnull(mp_copied_open(&c, &l, &a));
}
END_TEST

CHECK_MAIN("copied", no_layout_is_known)

#endif
