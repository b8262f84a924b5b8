/* SPDX-License-Identifier: MIT */
/* Retained sizes in Lua heaps whose objects refer to each other at random,
** against what a computation finds that takes the definitions literally; every
** object, against the blocks that an allocator of the test's own has given out.
**
** MP_GRAPHS: number of the heaps; MP_GRAPH_NODES: objects in each. */
#include "config.h"

#include "check_main.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"
#include "heapwalk/edge.h"
#include "vm/layout.h"
#include "vm/variant.h"

#include "lauxlib.h"
#include "lua.h"
#include "luajit.h"
#include "lualib.h"

#ifdef MP_LAYOUT

#include "check_blocks.h"
#include "check_brute.h"

/* -- Nodes --------------------------------------------------------------- */

typedef enum kind {
  A_TABLE, A_WEAK_KEYS, A_WEAK_VALUES, A_FUNCTION, A_CFUNCTION, A_USERDATA,
  A_THREAD, A_STRING, A_CDATA, AN_ARRAY, AN_UPVALUE, KINDS = AN_UPVALUE
} kind;

#define SLOTS	3		/* Upvalues of a function. */

typedef struct node {
  kind kind;
  bool meta, env;		/* It has one that was chosen. */
  uint32_t slots;		/* Of a function: in use. Of an upvalue: */
				/* 1 if it has a value. */
  uint32_t up[SLOTS];		/* Of a function: its upvalues' nodes. Of an */
				/* upvalue: a function that has it, its index */
				/* there. */
} node;

static node *nodes;
static lua_State *L;
static given graph;

/* Where the nodes are found while the graph is made. */
#define ALL	1
#define HELPERS	2

static const char helpers[] =
  "local ffi = require('ffi')\n"
  "local function make()\n"
  "  local a, b, c\n"
  "  return function() return a, b, c end\n"
  "end\n"
  "return { make, ffi.typeof('int64_t[3]'), ffi.typeof('char[?]'),\n"
  "  { __mode = 'k' }, { __mode = 'v' } }\n";

static void push(uint32_t i) { lua_rawgeti(L, ALL, (int)i + 1); }

static void call_helper(int which, int nargs)
{
  lua_rawgeti(L, HELPERS, which);
  lua_insert(L, -1 - nargs);
  lua_call(L, nargs, 1);
}

static void push_weak(int mode)
{
  lua_newtable(L);
  lua_rawgeti(L, HELPERS, mode);
  lua_setmetatable(L, -2);
}

static void push_string(uint32_t i)
{
  char text[300];
  int n = snprintf(text, sizeof(text), "node %u ", i);
  uint32_t more = random_below(250);
  memset(text + n, 'x', more);
  lua_pushlstring(L, text, (size_t)n + more);
}

static int nothing(lua_State *l) { (void)l; return 0; }

static void push_cfunction(void)
{
  lua_settop(L, lua_gettop(L) + SLOTS);
  lua_pushcclosure(L, nothing, SLOTS);
}

static void push_new(uint32_t i, kind k)
{
  switch (k) {
  case A_TABLE:
    lua_createtable(L, (int)random_below(30), (int)random_below(9));
    break;
  case A_WEAK_KEYS: push_weak(4); break;
  case A_WEAK_VALUES: push_weak(5); break;
  case A_FUNCTION: call_helper(1, 0); break;
  case A_CFUNCTION: push_cfunction(); break;
  case A_USERDATA: lua_newuserdata(L, random_below(100)); break;
  case A_THREAD: lua_newthread(L); break;
  case A_STRING: push_string(i); break;
  case A_CDATA: call_helper(2, 0); break;
  default:
    lua_pushnumber(L, random_below(200));
    call_helper(3, 1);
  }
}

/* The nodes of a function's upvalues follow its own. */
static void add_upvalues(uint32_t i)
{
  uint32_t k;
  push(i);
  for (k = 0; k < SLOTS; k++) {
    nodes[i].up[k] = i + 1 + k;
    nodes[i + 1 + k] = (node){ .kind = AN_UPVALUE, .up = { i, k + 1 } };
    find_block(lua_upvalueid(L, -1, (int)k + 1))->owner = i + 1 + k;
  }
  lua_pop(L, 1);
}

static void make_nodes(uint32_t n)
{
  uint32_t i = 0;
  while (i < n) {
    kind k = i == 0 ? A_TABLE : (kind)random_below(KINDS);
    if (k == A_FUNCTION && i + SLOTS >= n) continue;
    owner = i;
    nodes[i] = (node){ .kind = k };
    push_new(i, k);
    owner = NOBODY;
    lua_rawseti(L, ALL, (int)i + 1);
    if (k == A_FUNCTION) add_upvalues(i);
    i += k == A_FUNCTION ? 1 + SLOTS : 1;
  }
}

/* -- Edges --------------------------------------------------------------- */

static bool is_table(uint32_t i) { return nodes[i].kind <= A_WEAK_VALUES; }

/* Both are on the stack. A new key each time, and sometimes the key itself. */
static bool link_table(uint32_t from, uint32_t to)
{
  bool string = nodes[to].kind == A_STRING, key = random_below(4) == 0;
  if (key) {
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    return nodes[from].kind != A_WEAK_KEYS || string;
  }
  if (random_below(2) == 0) {
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
  } else {
    lua_pushnumber(L, 1000.5 + graph.nedges);
    lua_insert(L, -2);
    lua_rawset(L, -3);
  }
  return nodes[from].kind != A_WEAK_VALUES || string;
}

static bool link_meta(uint32_t from, uint32_t to)
{
  node *f = &nodes[from];
  if (f->meta || nodes[to].kind != A_TABLE) return false;
  f->meta = true;
  return lua_setmetatable(L, -2);
}

static bool link_env(uint32_t from, uint32_t to)
{
  node *f = &nodes[from];
  if (f->env || !is_table(to)) return false;
  f->env = true;
  return lua_setfenv(L, -2);
}

static bool link_slot(uint32_t from)
{
  node *f = &nodes[from];
  if (f->slots == SLOTS) return false;
  return lua_setupvalue(L, -2, (int)++f->slots) != NULL;
}

static bool link_thread(void)
{
  lua_State *th = lua_tothread(L, -2);
  if (!lua_checkstack(th, 1)) return false;
  lua_xmove(L, th, 1);
  return true;
}

static bool link_upvalue(uint32_t from)
{
  node *f = &nodes[from];
  if (f->slots++ > 0) return false;
  push(f->up[0]);
  lua_insert(L, -2);
  return lua_setupvalue(L, -2, (int)f->up[1]) != NULL;
}

/* Makes one object refer to another one. False: it does not hold that one. */
static bool link_nodes(uint32_t from, uint32_t to)
{
  bool environment = random_below(8) == 0;
  push(from);
  push(to);
  switch (nodes[from].kind) {
  case A_TABLE:
    if (random_below(8) == 0 && link_meta(from, to)) return true;
    return link_table(from, to);
  case A_WEAK_KEYS: case A_WEAK_VALUES: return link_table(from, to);
  case A_FUNCTION: return link_env(from, to);
  case A_CFUNCTION:
    return environment ? link_env(from, to) : link_slot(from);
  case A_USERDATA:
    return environment ? link_env(from, to) : link_meta(from, to);
  case A_THREAD: return environment ? link_env(from, to) : link_thread();
  case AN_UPVALUE: return link_upvalue(from);
  default: return false;
  }
}

static bool try_edge(uint32_t from, uint32_t to)
{
  bool done;
  if (nodes[to].kind == AN_UPVALUE) return false;  /* Is no value. */
  owner = from;
  done = link_nodes(from, to);
  owner = NOBODY;
  lua_settop(L, HELPERS);
  if (done) edge(&graph, from, to);
  return done;
}

/* Functions get upvalues of others in place of their own. */
static void join_upvalues(void)
{
  uint32_t i, k;
  for (i = 0; i < graph.n; i++) {
    uint32_t other = random_below(graph.n);
    if (nodes[i].kind != A_FUNCTION || nodes[other].kind != A_FUNCTION)
      continue;
    k = random_below(SLOTS);
    push(i);
    push(other);
    lua_upvaluejoin(L, -2, (int)k + 1, -1, 1);
    lua_settop(L, HELPERS);
    nodes[i].up[k] = nodes[other].up[0];
  }
  for (i = 0; i < graph.n; i++)
    for (k = 0; nodes[i].kind == A_FUNCTION && k < SLOTS; k++)
      edge(&graph, i, nodes[i].up[k]);
}

static void make_edges(void)
{
  uint32_t i, k, n = graph.n, more = n * (1 + random_below(4)) / 2;
  uint32_t near = random_below(3);
  for (i = 1; i < n; i++)
    for (k = 0; k < 20 && random_below(40) > 0; k++)
      if (try_edge(random_below(i), i)) break;
  for (i = 0; i < more; i++) {
    uint32_t from = random_below(n);
    try_edge(from, near == 0 ? (from + random_below(5)) % n : random_below(n));
  }
  join_upvalues();
}

/* -- The heap ------------------------------------------------------------ */

/* Has the VM make what it makes once, or whenever more is needed than before:
** no node is to have it. */
static void warm_up(void)
{
  uint32_t i;
  lua_gc(L, LUA_GCSTOP, 0);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  luaL_checkstack(L, 1000, NULL);
  for (i = 0; i < graph.n; i++) {
    lua_pushfstring(L, "string %d", (int)i);
    lua_pop(L, 1);
  }
  for (i = 0; i < KINDS; i++) {
    push_new(i, (kind)i);
    lua_pop(L, 1);
  }
}

static void make_heap(uint32_t n)
{
  graph.n = n;
  nodes = calloc(n, sizeof(*nodes));
  reset_blocks();
  L = lua_newstate(allocate, NULL);
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  lua_createtable(L, (int)n, 0);
  if (luaL_dostring(L, helpers) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  lua_pushvalue(L, HELPERS);
  lua_setfield(L, LUA_REGISTRYINDEX, "helpers");
  warm_up();
  make_nodes(n);
  make_edges();
  push(0);
  lua_setfield(L, LUA_REGISTRYINDEX, "top");
}

/* The address of a node's object. */
static const char *address(uint32_t i)
{
  const char *o;
  push(nodes[i].kind == AN_UPVALUE ? nodes[i].up[0] : i);
  o = lua_topointer(L, -1);
  switch (nodes[i].kind) {
  case A_STRING: o = lua_tostring(L, -1) - mp_variant_data(); break;
  case A_USERDATA: o -= UD_DATA; break;
  case A_CDATA: case AN_ARRAY: o -= CD_SIZE; break;
  case AN_UPVALUE: o = NULL; break;
  default: break;
  }
  lua_pop(L, 1);
  return o;
}

/* Upvalues have no other address than that of their block. */
static void find_upvalues(mp_heap *heap)
{
  uint32_t i;
  for (i = 0; i < nblocks; i++) {
    uint32_t n = blocks[i].owner;
    if (n != NOBODY && blocks[i].size > 0 && nodes[n].kind == AN_UPVALUE)
      graph.number[n] = mp_places_find(&heap->places, blocks[i].p);
  }
}

static void describe_heap(mp_heap *heap)
{
  uint32_t i;
  finish(&graph);
  for (i = 0; i < nblocks; i++)
    if (blocks[i].owner != NOBODY)
      graph.size[blocks[i].owner] += blocks[i].size;
  find_upvalues(heap);
  for (i = 0; i < graph.n; i++) {
    const char *o = address(i);
    if (o != NULL) graph.number[i] = mp_places_find(&heap->places, o);
    ck_assert_msg(graph.number[i] != 0, "node %u, kind %d, was not found", i,
		  (int)nodes[i].kind);
    ck_assert_uint_eq(graph.size[i], mp_heap_size(heap,
      mp_places_address(&heap->places, graph.number[i])));
  }
}

/* -- Checks -------------------------------------------------------------- */

static mp_heap h;
static uint64_t objects;	/* Bytes of all. */

static void find_blocks(void *ud, uint32_t number, const void *o)
{
  mp_heapparts p;
  int i;
  (void)ud; (void)number;
  objects += mp_heap_size(&h, o);
  mp_heap_parts(&h, o, &p);
  for (i = 0; i < MP_HEAP_PARTS; i++) {
    mp_block *b = p.size[i] > 0 ? find_block(p.block[i]) : NULL;
    if (b == NULL) continue;
    ck_assert(!b->found);
    ck_assert_ptr_eq(b->p, p.block[i]);
    ck_assert_uint_eq(b->size, p.size[i]);
    b->found = true;
  }
}

/* Each block belongs to an object, or else to the VM, which has the same blocks
** in each heap. */
static void check_blocks(void)
{
  static uint32_t others;
  uint64_t total = 0, own = 0;
  uint32_t i, left = 0;
  mp_heapown vm;
  objects = 0;
  mp_places_each(&h.places, find_blocks, NULL);
  for (i = 0; i < nblocks; i++) {
    total += blocks[i].size;
    if (blocks[i].size == 0 || blocks[i].found) continue;
    ck_assert_uint_eq(blocks[i].owner, NOBODY);
    own += blocks[i].size;
    left++;
  }
  ck_assert(mp_heap_own(&h, objects, &vm));
  ck_assert_uint_eq(vm.total, total);
  ck_assert_uint_eq(objects + own, total);
  if (others == 0) others = left;
  ck_assert_uint_eq(left, others);
}

/* The number of references on the path that was found, beyond the top. */
static int32_t path_length(const mp_graph *g, uint32_t i)
{
  int32_t n = 0;
  uint32_t at = graph.number[i];
  for (; at != graph.number[0]; at = g->up[at], n++) ck_assert_uint_ne(at, 0);
  return n;
}

static void check_heap(void)
{
  mp_graph g;
  int32_t *dist;
  uint32_t i;
  ck_assert(mp_heap_open(&h, L));
  check_blocks();
  describe_heap(&h);
  lua_settop(L, 0);
  ck_assert(mp_heap_graph(&h, &g));
  ck_assert(mp_graph_dominate(&g));
  dist = distances(&graph);
  for (i = 0; i < graph.n; i++) {
    ck_assert_int_eq(dist[i] >= 0, mp_graph_reached(&g, graph.number[i]));
    if (dist[i] >= 0) ck_assert_int_eq(path_length(&g, i), dist[i]);
  }
  check_nodes(&graph, &g, dist);
  free(dist);
  mp_graph_free(&g);
  mp_heap_close(&h);
}

static uint32_t setting(const char *name, uint32_t usual)
{
  const char *s = getenv(name);
  return s != NULL ? (uint32_t)atoi(s) : usual;
}

static void check_heaps(uint32_t count, uint32_t n)
{
  uint32_t i;
  if (!mp_heap_prove()->proved) return;
  for (i = 0; i < count; i++) {
    seed = (uint64_t)i + 1;
    make_heap(n);
    check_heap();
    lua_close(L);
    free(nodes);
    drop(&graph);
  }
}

START_TEST(random_heaps)
{
  bool slow = getenv("MP_TEST_SLOW") != NULL;
  check_heaps(setting("MP_GRAPHS", slow ? 3 : 100),
	      setting("MP_GRAPH_NODES", 500));
}
END_TEST

START_TEST(a_heap_of_10000_objects)
{
  check_heaps(1, getenv("MP_TEST_SLOW") != NULL ? 1000 : 10000);
}
END_TEST

CHECK_MAIN("retained", random_heaps, a_heap_of_10000_objects)

#else

START_TEST(no_layout) { }
END_TEST

CHECK_MAIN("retained", no_layout)

#endif
