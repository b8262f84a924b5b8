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

#include "data/map.h"
#include "data/mem.h"
#include "data/thread.h"
#include "heapwalk/edge.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"
#include "vm/layout.h"
#include "vm/arena.h"
#include "vm/low.h"
#include "vm/own.h"
#include "vm/prove.h"
#include "vm/variant.h"

#include "lauxlib.h"

static mp_heaplayout layout;
static atomic_bool proved;	/* The layout is complete. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#ifdef MP_LAYOUT

/* -- The state and its blocks --------------------------------------------- */

typedef struct block {
  struct block *prev, *next;
  const char *p;
  size_t size;
  size_t slack;			/* It may be so much smaller. */
  bool owned;			/* By an object. */
} block;

static bool ffi_half_open;

static void link_block(block *b, block *all, const char *p, size_t size,
		       size_t slack)
{
  *b = (block){ all, all->next, p, size, slack, false };
  all->next->prev = b;
  all->next = b;
}

static void unlink_block(block *b)
{
  b->prev->next = b->next;
  b->next->prev = b->prev;
}

#if defined(MP_REFS32) && defined(__x86_64__)

/* Such a VM takes memory in the first two gigabytes only, and no allocator but
** its own in lua_newstate. The state has that one, with the size that was asked
** for at the end of each block. Blocks of lua_newstate's have no such end:
** their sizes are those that the allocator has rounded. */

typedef struct foot {
  uint64_t size;
  uint64_t check;
} foot;

static lua_Alloc vmalloc;
static void *vmdata;
static bool incomplete;		/* There was no memory for the list. */

static foot make_foot(const char *p, size_t size)
{
  return (foot){ size, mp_mix((uint64_t)(uintptr_t)p, size) };
}

static char *foot_of(char *p) { return p + mp_arena_room(p) - sizeof(foot); }

static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize)
{
  char *p = vmalloc(ud, ptr, osize, nsize == 0 ? 0 : nsize + sizeof(foot));
  if (p != NULL) {
    foot f = make_foot(p, nsize);
    memcpy(foot_of(p), &f, sizeof(f));
  }
  return p;
}

static void add_block(void *data, char *p, size_t room)
{
  block *b = malloc(sizeof(*b));
  foot f, right;
  if (p == vmdata || b == NULL) {  /* The allocator's own, which is first. */
    free(b);
    incomplete |= p != vmdata;
    return;
  }
  memcpy(&f, foot_of(p), sizeof(f));
  right = make_foot(p, (size_t)f.size);
  if (memcmp(&f, &right, sizeof(f)) == 0 && f.size <= room)
    link_block(b, data, p, (size_t)f.size, 0);
  else
    link_block(b, data, p, room, CHUNK_MIN + CHUNK_DATA - 1);
}

static void forget_blocks(block *all)
{
  while (all->next != all) {
    block *b = all->next;
    unlink_block(b);
    free(b);
  }
}

static bool list_blocks(block *all)
{
  forget_blocks(all);
  incomplete = false;
  return mp_arena_blocks(vmalloc, vmdata, add_block, all) && !incomplete;
}

static lua_State *open_state(block *all)
{
  lua_State *L = luaL_newstate();
  (void)all;
  ffi_half_open = false;
  if (L == NULL) return NULL;
  vmalloc = lua_getallocf(L, &vmdata);
  lua_setallocf(L, allocate, vmdata);
  return L;
}

static void close_state(lua_State *L, block *all)
{
  forget_blocks(all);
  lua_setallocf(L, vmalloc, vmdata);
  mp_own_close(L, ffi_half_open);
}

#else

/* lua_newstate of older builds crashes if memory is refused in the midst of it:
** its memory is there before. On arm64 all of the state's is, as malloc's may
** lie where no reference leads. */
#ifdef __aarch64__
#define RESERVE		(16 << 20)
#define NO_MORE		true
#else
#define RESERVE		(64 << 10)
#define NO_MORE		false
#endif

static char *reserve;
static size_t reserved;		/* Bytes of it that are taken. */

static void *take(size_t n)
{
  char *p = reserve + reserved;
  n = (n + 15) & ~(size_t)15;
  if (n > RESERVE - reserved) return NO_MORE ? NULL : malloc(n);
  reserved += n;
  return p;
}

/* luajit-mp attach, which looks for states in all memory, finds none here. */
static void drop(block *b)
{
  unlink_block(b);
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
  link_block(n, all, (char *)(n + 1), nsize, 0);
  if (b != NULL) {
    memcpy(n + 1, b + 1, b->size < nsize ? b->size : nsize);
    drop(b);
  }
  return n + 1;
}

/* The list is always there. */
static bool list_blocks(block *all)
{
  (void)all;
  return true;
}

static lua_State *open_state(block *all)
{
  lua_State *L = NULL;
  reserve = mp_low_alloc(RESERVE);
  reserved = 0;
  ffi_half_open = false;
  if (reserve != NULL) L = lua_newstate(allocate, all);
  reserved = NO_MORE ? reserved : RESERVE;
  if (L == NULL) mp_low_free(reserve, RESERVE);
  return L;
}

/* If the state cannot be closed, its area of machine code remains. */
static void close_state(lua_State *L, block *all)
{
  if (!ffi_half_open) lua_close(L);
  else while (all->next != all) drop(all->next);
  mp_low_free(reserve, RESERVE);
}

#endif

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
  const char *first;
  uint32_t i, n = 0, ofs = 0;
  lua_pushliteral(L, "__index");
  first = lua_tostring(L, -1) - mp_variant_data();
  lua_pop(L, 1);
  for (i = vm->jitbase; i < G_SEARCH; i += sizeof(gcref))
    if (REF(const char *, vm->g, i) == first) { ofs = i; n++; }
  return n == 1 ? ofs : 0;
}

static const char *root(const mp_vm *vm, uint32_t i)
{
  return REF(const char *, vm->g, layout.roots + i * sizeof(gcref));
}

static bool find_roots(const mp_vm *vm, lua_State *L)
{
  uint32_t n = 0, ofs = layout.roots = roots_offset(vm, L);
  const char *o;
  if (ofs == 0) return false;
  while (n < ROOTS_NAMES && (o = root(vm, n)) != NULL &&
	 obj_gct(o) == GCT_STR && memcmp(o + mp_variant_data(), "__", 2) == 0)
    n++;
  layout.names = n;
  return n > MM_MODE &&
	 strcmp(root(vm, MM_MODE) + mp_variant_data(), "__mode") == 0 &&
	 root(vm, n + GCT_STR) != NULL;  /* Strings have a metatable. */
}

/* The size of the block that the address lies in, or 0. */
static size_t block_around(const block *all, const char *p)
{
  const block *b;
  for (b = all->next; b != all; b = b->next)
    if (p >= b->p && p < b->p + b->size) return b->size;
  return 0;
}

typedef struct sizing {
  mp_vm vm;
  block *all;
  int collect;			/* Reference to that function. */
  bool found;
} sizing;

static int collect(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);  /* What finalizers held, too. */
  return 0;
}

/* With its zero not a multiple of STR_ROUND: its size tells whether sizes of
** strings are rounded. */
static const char text[] = "not a multiple of four";
_Static_assert(sizeof(text) % STR_ROUND != 0, "either way the same");

static bool find_string(const char *str, const block *all)
{
  size_t size = block_around(all, str);
  layout.len = mp_variant_len();
  layout.data = mp_variant_data();
  layout.round = size == STR_SIZE(layout.data, strlen(text), STR_ROUND) ?
		 STR_ROUND : 1;
  return AT(uint32_t, str, layout.len) == strlen(text) &&
	 size == STR_SIZE(layout.data, strlen(text), layout.round);
}

/* Whether the program has loaded the FFI. */
static bool has_ffi(lua_State *L)
{
  bool has;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "ffi");
  has = !lua_isnil(L, -1);
  lua_pop(L, 2);
  return has;
}

static int find_sizes(lua_State *L)
{
  sizing *s = lua_touserdata(L, 1);
  const mp_vm *vm = &s->vm;
  block *all = s->all;
  const char *cts = REF(const char *, vm->g, vm->jitbase + JITBASE_CTSTATE);
  const char *str;
  lua_pushcfunction(L, collect);
  s->collect = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushstring(L, text);
  lua_newthread(L);
  str = lua_tostring(L, -2) - mp_variant_data();
  if (!list_blocks(all)) return 0;
  layout.mainl = (uint32_t)(vm->g - vm->mainl);
  layout.state = (uint32_t)block_around(all, vm->g);
  layout.ctstate = cts != NULL ? (uint32_t)block_around(all, cts) : 0;
  layout.thread = (uint32_t)block_around(all, lua_topointer(L, -1));
  s->found = layout.state > layout.mainl && layout.thread >= L_SIZE &&
	     (layout.ctstate != 0 || !has_ffi(L)) && find_string(str, all);
  return 0;
}

/* -- Checks -------------------------------------------------------------- */

typedef struct checking {
  mp_heap *h;
  mp_places blocks;
  block **list;			/* By their numbers. */
  uint64_t owned;		/* Bytes of blocks that objects own. */
  bool good;
} checking;

/* From now on the block that begins there is owned. */
static void own_block(checking *c, const void *p, uint64_t size)
{
  uint32_t i = mp_places_find(&c->blocks, p);
  block *b = i == 0 ? NULL : c->list[i];
  if (b == NULL || b->owned || size > b->size || b->size - size > b->slack)
    c->good = false;
  else
    b->owned = true;
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
    if (p.size[i] > 0) own_block(c, p.block[i], p.size[i]);
  }
  c->owned += size;
  if (size != mp_heap_size(c->h, o)) c->good = false;
}

/* Gives the blocks numbers. False: there is no memory for it. */
static bool number_blocks(checking *c, block *all)
{
  block *b;
  for (b = all->next; b != all; b = b->next)
    if (!mp_places_add(&c->blocks, b->p)) return false;
  if (!mp_places_close(&c->blocks)) return false;
  c->list = mp_calloc((size_t)c->blocks.count + 1, sizeof(*c->list));
  if (c->list == NULL) return false;
  for (b = all->next; b != all; b = b->next)
    c->list[mp_places_find(&c->blocks, b->p)] = b;
  return true;
}

/* Each object has blocks, each block an owner, and all add up. */
static bool check_blocks(mp_heap *h, block *all)
{
  checking c = { .h = h, .blocks = MP_PLACES_EMPTY, .good = true };
  uint64_t left = 0, slack = 0, excess;
  mp_heapown own;
  block *b;
  c.good = number_blocks(&c, all);
  if (c.good) {
    mp_places_each(&h->places, check_object, &c);
    for (b = all->next; b != all; b = b->next)
      if (!b->owned) { left += b->size; slack += b->slack; }
    if (!mp_heap_own(h, c.owned, &own)) c.good = false;
    excess = c.owned + left - own.total;
    if (excess > slack) c.good = false;
  }
  mp_places_free(&c.blocks);
  mp_free(c.list);
  return c.good;
}

/* The buffer for strings is a block of the VM's own. */
static bool check_buffer(const mp_heap *h, const block *all)
{
  const char *buf = h->g + h->layout->tmpbuf;
  uint32_t n = h->layout->bufword;
  const char *start = BUF_WORD(buf + 2 * n, n);
  size_t size = (size_t)(BUF_WORD(buf + n, n) - start);
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

static const char *const poor = "there is no memory for it";

static const char *prove_heap(lua_State *L, block *all)
{
  const char *why = NULL;
  mp_heap h;
  if (!list_blocks(all) || !mp_heap_find(&h, &layout, L, UINT64_MAX))
    why = poor;
  else if (!check_blocks(&h, all) || !check_buffer(&h, all))
    why = "the layout of objects is not the known one";
  else if (!check_reached(&h))
    why = "the layout of references is not the known one";
  mp_heap_close(&h);
  return why;
}

/* The reason why this VM cannot be proved at all, or NULL. A VM whose
** references are not as wide as ours might not take the allocator above, and
** complain on standard error. */
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
  layout.bufword = mp_variant_bufword();
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

static void prove_once(void *unused)
{
  block all = { &all, &all, NULL, 0, 0, true };
  lua_State *L = NULL;
  (void)unused;
  layout.why = refuses();
  if (layout.why != NULL) return;
  L = open_state(&all);
  layout.why = L != NULL ? prove(L, &all) : poor;
  layout.proved = layout.why == NULL;
  if (L != NULL) close_state(L, &all);
}

#else

static void prove_once(void *unused)
{
  (void)unused;
  layout.why = "this processor's layout is not known";
}

#endif

const mp_heaplayout *mp_heap_prove(void)
{
  if (proved) return &layout;  /* A child may not get the lock. */
  pthread_mutex_lock(&mutex);
  if (!layout.proved) mp_thread_roomy(prove_once, NULL);
  proved = layout.proved;
  pthread_mutex_unlock(&mutex);
  return &layout;
}

bool mp_heap_open(mp_heap *h, lua_State *L)
{
  const mp_heaplayout *found = mp_heap_prove();
  if (found->proved) return mp_heap_find(h, found, L, UINT64_MAX);
  memset(h, 0, sizeof(*h));
  h->layout = found;
  return false;
}
