/* SPDX-License-Identifier: MIT */
/*
** The proof of the heap's layout. See heapwalk/prove.h.
**
** The state has an allocator that knows all blocks of memory and their sizes.
** A program makes objects of all kinds there. Then each object's size must be
** that of its blocks, nothing but the VM's own blocks may be left, it must all
** add up to what the collector counts, and after a full collection every
** object must be reached.
*/
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "heapwalk/edge.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"
#include "vm/layout.h"
#include "vm/own.h"
#include "vm/prove.h"
#include "vm/variant.h"

#include "lauxlib.h"

static mp_heaplayout layout;
static atomic_bool proved;	/* The layout is complete. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#ifdef MP_HEAPWALK

/* -- The allocator ------------------------------------------------------- */

typedef struct block {
  struct block *prev, *next;
  size_t size;			/* Without this. */
  bool owned;			/* By an object. */
} block;

/* lua_newstate of older builds crashes if memory is refused in the midst of it:
** its memory is there before. */
#define RESERVE		(64 << 10)

static char *reserve;
static size_t reserved;		/* Bytes of it that are taken. */

static void *take(size_t n)
{
  char *p = reserve + reserved;
  n = (n + 15) & ~(size_t)15;
  if (n > RESERVE - reserved) return malloc(n);
  reserved += n;
  return p;
}

/* luajit-mp attach, which looks for states in all memory, finds none here. */
static void drop(block *b)
{
  b->prev->next = b->next;
  b->next->prev = b->prev;
  explicit_bzero(b + 1, b->size);
  if ((uintptr_t)b - (uintptr_t)reserve >= RESERVE) free(b);
}

static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize)
{
  block *all = ud, *b = ptr ? (block *)ptr - 1 : NULL, *n;
  (void)osize;
  if (nsize == 0) {
    if (b != NULL) drop(b);
    return NULL;
  }
  n = take(sizeof(*n) + nsize);
  if (n == NULL) return NULL;
  *n = (block){ all, all->next, nsize, false };
  all->next->prev = n;
  all->next = n;
  if (b != NULL) {
    memcpy(n + 1, b + 1, b->size < nsize ? b->size : nsize);
    drop(b);
  }
  return n + 1;
}

/* -- The program --------------------------------------------------------- */

static const char program[] =
  "keep = { colo = { 1, 2, 3 }, grown = { 1, 2, 3 }, hash = {} }\n"
  "for i = 4, 100 do keep.grown[i] = { i, 'string '..i } end\n"
  "for i = 1, 50 do keep.hash['key'..i] = ('x'):rep(i) end\n"
  "keep.hash[keep.colo] = keep.grown\n"
  "keep.weak = setmetatable({}, { __mode = 'k' })\n"
  "keep.weak[keep.colo] = { 'value' }\n"
  "local up, other = 1, { 'held by an upvalue' }\n"
  "function keep.closure() up = up + 1 return other end\n"
  "keep.gmatch = ('a b'):gmatch('%w')\n"
  "keep.co = coroutine.create(function(a)\n"
  "  local open = { a }\n"
  "  keep.open = function() return open end\n"
  "  coroutine.yield()\n"
  "end)\n"
  "coroutine.resume(keep.co, { 'an argument' })\n"
  "keep.deep = coroutine.wrap(function()\n"
  "  local function f(n) if n > 0 then return 1 + f(n - 1) end\n"
  "    coroutine.yield() return 0 end\n"
  "  f(300)\n"
  "end)\n"
  "keep.deep()\n"
  "keep.proxy = newproxy(true)\n"
  "getmetatable(keep.proxy).__gc = function() end\n"
  "keep.metatabled = setmetatable({}, { __index = keep })\n"
  "keep.loaded = loadstring('local a = {1,2,{3}} return a, \"constant\"')\n"
  "for i = 1, 200 do keep.sum = (keep.sum or 0) + #keep.colo end\n"
  "for i = 1, 200 do keep.object = { keep.colo, i } end\n"
  "local ok, ffi = pcall(require, 'ffi')\n"
  "if ok then\n"
  "  keep.int = ffi.new('int')\n"
  "  keep.array = ffi.new('double[7]')\n"
  "  keep.vla = ffi.new('char[?]', 100)\n"
  "  keep.loaded64 = loadstring('return 1LL')\n"  /* No syntax without ffi. */
  "  keep.i64 = keep.loaded64()\n"
  "  keep.aligned = ffi.new('struct { int a __attribute__((aligned(64))); }')\n"
  "  keep.struct = ffi.new('struct { int x; const char *y; }')\n"
  "  keep.pointer = ffi.cast('void *', 0)\n"
  "  keep.fin = ffi.gc(ffi.new('int[2]'), function() end)\n"
  "  keep.type = ffi.metatype('struct { int q; }', { __index = {} })\n"
  "end\n"
  "local ok, buffer = pcall(require, 'string.buffer')\n"
  "if ok then\n"
  "  keep.buffer = buffer.new():put(('buffer'):rep(50))\n"
  "  keep.cow = buffer.new():set(('text'):rep(50))\n"
  "  keep.dict = buffer.new({ dict = { 'a', 'b' } })\n"
  "end\n";

static bool ffi_half_open;

static int run_program(lua_State *L)
{
  if (mp_own_open(L, &ffi_half_open)) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "ffi");
    lua_call(L, 1, 0);
  }
  if (luaL_loadstring(L, program) != 0) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

/* -- Offsets ------------------------------------------------------------- */

static int find_vm(lua_State *L)
{
  mp_vm *vm = lua_touserdata(L, 1);
  lua_settop(L, 0);
  mp_vm_prove(vm, L, find_vm);
  return 0;
}

/* The registry's slot is the one word of the global state that holds it. */
static bool find_registry(const mp_vm *vm, lua_State *L)
{
  const char *registry = lua_topointer(L, LUA_REGISTRYINDEX);
  uint32_t i, n = 0;
  for (i = 0; i < vm->curl; i += 8) {
    slot v = AT(slot, vm->g, i);
    if (TAG(v) == TAGTAB && PTR(v) == registry) { layout.registry = i; n++; }
  }
  return n == 1;
}

/* The VM's roots begin with the names of events, the first of which is
** "__index". */
static uint32_t roots_offset(const mp_vm *vm, lua_State *L)
{
  const char *first, *const *word;
  uint32_t i, n = 0, ofs = 0;
  lua_pushliteral(L, "__index");
  first = lua_tostring(L, -1) - STR_DATA;
  lua_pop(L, 1);
  for (i = vm->jitbase; i < G_SEARCH; i += 8) {
    word = (const char *const *)(const void *)(vm->g + i);
    if (*word == first) { ofs = i; n++; }
  }
  return n == 1 ? ofs : 0;
}

static bool find_roots(const mp_vm *vm, lua_State *L)
{
  uint32_t n = 0, ofs = layout.roots = roots_offset(vm, L);
  const char *const *roots =
    (const char *const *)(const void *)(vm->g + ofs);
  if (ofs == 0) return false;
  while (n < ROOTS_NAMES && roots[n] != NULL && obj_gct(roots[n]) == GCT_STR &&
	 memcmp(roots[n] + STR_DATA, "__", 2) == 0)
    n++;
  layout.names = n;
  return n > MM_MODE && strcmp(roots[MM_MODE] + STR_DATA, "__mode") == 0 &&
	 roots[n + GCT_STR] != NULL;  /* Strings have a metatable. */
}

/* The size of the block that the address lies in, or 0. */
static size_t block_around(const block *all, const char *p)
{
  const block *b;
  for (b = all->next; b != all; b = b->next)
    if (p >= (const char *)(b + 1) && p < (const char *)(b + 1) + b->size)
      return b->size;
  return 0;
}

typedef struct sizing {
  mp_vm vm;
  const block *all;
  int collect;			/* Reference to that function. */
  bool found;
} sizing;

static int collect(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);  /* What finalizers held, too. */
  return 0;
}

/* A string's size may be rounded, and it ends in a zero. */
static bool find_string(lua_State *L, const block *all)
{
  const char *str, text[] = "a string that is not a multiple";
  size_t size;
  lua_pushstring(L, text);
  str = lua_tostring(L, -1) - STR_DATA;
  size = block_around(all, str);
  lua_pop(L, 1);
  layout.len = mp_variant_len();
  layout.round = size == STR_SIZE(strlen(text), STR_ROUND) ? STR_ROUND : 1;
  return AT(uint32_t, str, layout.len) == strlen(text) &&
	 size == STR_SIZE(strlen(text), layout.round);
}

static int find_sizes(lua_State *L)
{
  sizing *s = lua_touserdata(L, 1);
  const mp_vm *vm = &s->vm;
  const block *all = s->all;
  const char *cts = AT(const char *, vm->g, vm->jitbase + JITBASE_CTSTATE);
  layout.mainl = (uint32_t)(vm->g - vm->mainl);
  layout.state = (uint32_t)block_around(all, vm->g);
  layout.ctstate = cts != NULL ? (uint32_t)block_around(all, cts) : 0;
  lua_newthread(L);
  layout.thread = (uint32_t)block_around(all, lua_topointer(L, -1));
  lua_pop(L, 1);
  lua_pushcfunction(L, collect);
  s->collect = luaL_ref(L, LUA_REGISTRYINDEX);
  s->found = layout.state > layout.mainl && layout.thread >= L_SIZE &&
	     (cts == NULL || layout.ctstate != 0) && find_string(L, all);
  return 0;
}

/* -- Checks -------------------------------------------------------------- */

typedef struct checking {
  mp_heap *h;
  mp_places blocks;
  uint64_t owned;		/* Bytes of blocks that objects own. */
  bool good;
} checking;

/* Bytes of the block that begins there, which is owned from now on. */
static uint64_t own_block(checking *c, const void *p)
{
  block *b = (block *)(uintptr_t)p - 1;
  if (mp_places_find(&c->blocks, p) == 0) {
    c->good = false;
    return 0;
  }
  if (b->owned) c->good = false;
  b->owned = true;
  return b->size;
}

static void check_object(void *ud, uint32_t number, const void *o)
{
  checking *c = ud;
  mp_heapparts p;
  uint64_t size = 0;
  int i;
  (void)number;
  mp_heap_parts(c->h, o, &p);
  for (i = 0; i < MP_HEAP_PARTS; i++) {
    size += p.size[i];
    if (p.size[i] > 0 && own_block(c, p.block[i]) != p.size[i])
      c->good = false;
  }
  c->owned += size;
  if (size != mp_heap_size(c->h, o)) c->good = false;
}

/* Each object has blocks, each block an owner, and all add up. */
static bool check_blocks(mp_heap *h, block *all)
{
  checking c = { h, MP_PLACES_EMPTY, 0, true };
  uint64_t left = 0;
  mp_heapown own;
  block *b;
  for (b = all->next; b != all; b = b->next)
    if (!mp_places_add(&c.blocks, b + 1)) c.good = false;
  if (c.good && mp_places_close(&c.blocks)) {
    mp_places_each(&h->places, check_object, &c);
    for (b = all->next; b != all; b = b->next) if (!b->owned) left += b->size;
    if (!mp_heap_own(h, c.owned, &own) || own.total != c.owned + left)
      c.good = false;
  }
  mp_places_free(&c.blocks);
  return c.good;
}

/* The buffer for strings is a block of the VM's own. */
static bool check_buffer(const mp_heap *h, const block *all)
{
  const char *buf = h->g + h->layout->tmpbuf;
  const char *start = AT(const char *, buf, SBUF_B);
  size_t size = (size_t)(AT(const char *, buf, SBUF_E) - start);
  return start != NULL && size != 0 && block_around(all, start) == size;
}

static bool check_reached(mp_heap *h)
{
  mp_graph g;
  uint32_t i;
  bool good = mp_heap_graph(h, &g) && mp_graph_dominate(&g);
  for (i = 1; good && i < g.n; i++) good = mp_graph_reached(&g, i);
  mp_graph_free(&g);
  return good;
}

/* -- The proof ----------------------------------------------------------- */

static const char *prove_heap(lua_State *L, block *all)
{
  const char *why = NULL;
  mp_heap h;
  if (!mp_heap_find(&h, &layout, L)) why = "there is no memory for it";
  else if (!check_blocks(&h, all) || !check_buffer(&h, all))
    why = "the layout of objects is not the known one";
  else if (!check_reached(&h))
    why = "the layout of references is not the known one";
  mp_heap_close(&h);
  return why;
}

static const char *const poor = "there is no memory for it";

/* The reason why this VM cannot be proved at all, or NULL. A VM with references
** of 32 bits would not take the allocator below, and complain on standard
** error. */
static const char *refuses(void)
{
  lua_State *L = luaL_newstate();
  const char *why = poor;
  mp_vm vm;
  if (L == NULL) return poor;
  if (lua_cpcall(L, find_vm, &vm) == 0) why = vm.proved ? NULL : vm.why;
  lua_close(L);
  return why;
}

/* Memory may run out in every step that makes or collects objects: an error
** must not leave this state. The collecting function is referenced, and thus no
** garbage itself. */
static const char *prove(lua_State *L, block *all)
{
  sizing s = { .all = all };
  mp_vm *vm = &s.vm;
  if (lua_cpcall(L, find_vm, vm) != 0) return poor;
  if (!vm->proved) return vm->why;
  layout.curl = vm->curl;
  layout.jitbase = vm->jitbase;
  layout.strtab = vm->strtab;
  layout.tmpbuf = vm->tmpbuf;
  layout.alloc = (uint32_t)(vm->alloc - vm->g);
  if (lua_cpcall(L, run_program, NULL) != 0)
    return "the program that proves the layout does not run";
  if (!find_registry(vm, L) || !find_roots(vm, L))
    return "the layout of the VM's roots is not the known one";
  if (lua_cpcall(L, find_sizes, &s) != 0) return poor;
  if (!s.found) return "the layout of the VM's state is not the known one";
  lua_rawgeti(L, LUA_REGISTRYINDEX, s.collect);
  if (lua_pcall(L, 0, 0, 0) != 0) return poor;
  return prove_heap(L, all);
}

/* If the state cannot be closed, its area of machine code remains. */
static void close_state(lua_State *L, block *all)
{
  if (!ffi_half_open) lua_close(L);
  else while (all->next != all) drop(all->next);
}

static void prove_once(void)
{
  block all = { &all, &all, 0, true };
  lua_State *L = NULL;
  layout.why = refuses();
  if (layout.why != NULL) return;
  reserve = malloc(RESERVE);
  reserved = 0;
  ffi_half_open = false;
  if (reserve != NULL) L = lua_newstate(allocate, &all);
  reserved = RESERVE;
  layout.why = L != NULL ? prove(L, &all) : poor;
  layout.proved = layout.why == NULL;
  if (L != NULL) close_state(L, &all);
  free(reserve);
}

#else

static void prove_once(void)
{
#ifdef MP_REFS32
  layout.why = "not a GC64 build of LuaJIT";
#else
  layout.why = "this processor's layout is not known";
#endif
}

#endif

const mp_heaplayout *mp_heap_prove(void)
{
  if (proved) return &layout;  /* A child may not get the lock. */
  pthread_mutex_lock(&mutex);
  if (!layout.proved) prove_once();
  proved = layout.proved;
  pthread_mutex_unlock(&mutex);
  return &layout;
}

bool mp_heap_open(mp_heap *h, lua_State *L)
{
  const mp_heaplayout *found = mp_heap_prove();
  if (found->proved) return mp_heap_find(h, found, L);
  memset(h, 0, sizeof(*h));
  h->layout = found;
  return false;
}
