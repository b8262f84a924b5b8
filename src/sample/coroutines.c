/* SPDX-License-Identifier: MIT */
/*
** See sample/coroutines.h.
**
** The list of coroutines has no gaps, so that one of them can be drawn at
** random: the last one takes the place of one that is freed. Its pages stay
** where they are until the end, for other threads. The table is an open
** hash table without marks of deleted entries; its writes are in such an order
** that a handler which interrupts them finds all that are alive.
*/
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "sample/coroutines.h"
#include "vm/peek.h"

typedef struct entry {
  atomic_uintptr_t L;		/* 0: empty. */
  atomic_uint at;		/* Its number in the list. */
} entry;

typedef struct mp_coroutinetable {
  uint32_t mask;
  entry entries[];
} table;

#define TABLE_MIN	64u	/* Entries, a power of two; half are in use. */

#define GET(a)		atomic_load_explicit(&(a), memory_order_relaxed)
#define SET(a, v)	atomic_store_explicit(&(a), (v), memory_order_release)

#ifdef MP_LAYOUT

/* -- The table ------------------------------------------------------------ */

static uint32_t home(const table *t, uintptr_t L)
{
  return (uint32_t)((uint64_t)L * UINT64_C(0x9e3779b97f4a7c15) >> 32) & t->mask;
}

static table *new_table(uint32_t n)
{
  table *t = mp_calloc(1, sizeof(*t) + n * sizeof(entry));
  if (t != NULL) t->mask = n - 1;
  return t;
}

/* The entry of a coroutine, or the empty one where it would be. */
static entry *find(table *t, uintptr_t L)
{
  uint32_t i = home(t, L);
  while (GET(t->entries[i].L) != L && GET(t->entries[i].L) != 0)
    i = (i + 1) & t->mask;
  return &t->entries[i];
}

static void write_entry(entry *e, uintptr_t L, uint32_t at)
{
  SET(e->at, at);
  SET(e->L, L);
}

/* Removes an entry: those behind it that would not be found move up. */
static void remove_entry(table *t, entry *e)
{
  uint32_t hole = (uint32_t)(e - t->entries), i = hole;
  for (;;) {
    uintptr_t L;
    i = (i + 1) & t->mask;
    L = GET(t->entries[i].L);
    if (L == 0) break;
    if (((i - home(t, L)) & t->mask) < ((i - hole) & t->mask)) continue;
    write_entry(&t->entries[hole], L, GET(t->entries[i].at));
    hole = i;
  }
  SET(t->entries[hole].L, 0);
}

/* Makes room for one more. False: no memory. */
static bool grow_table(mp_coroutines *c, uint32_t n)
{
  table *old = GET(c->table), *t;
  uint32_t i;
  if (n < (old->mask + 1) / 2) return true;
  t = new_table((old->mask + 1) * 2);
  if (t == NULL) return false;
  for (i = 0; i <= old->mask; i++) {
    uintptr_t L = GET(old->entries[i].L);
    if (L != 0) write_entry(find(t, L), L, GET(old->entries[i].at));
  }
  SET(c->table, t);
  mp_free(old);
  return true;
}

/* -- The list ------------------------------------------------------------- */

static mp_coroutine *at(const mp_coroutines *c, uint32_t i)
{
  return &GET(c->pages[i / MP_COROUTINES_PAGE])[i % MP_COROUTINES_PAGE];
}

static bool grow_list(mp_coroutines *c, uint32_t n)
{
  uint32_t page = n / MP_COROUTINES_PAGE;
  mp_coroutine *p;
  if (n >= MP_COROUTINES_MAX) return false;
  if (GET(c->pages[page]) != NULL) return true;
  p = mp_calloc(MP_COROUTINES_PAGE, sizeof(*p));
  if (p == NULL) return false;
  SET(c->pages[page], p);
  return true;
}

static void add(mp_coroutines *c, const void *L, uint32_t label)
{
  uintptr_t key = (uintptr_t)L;
  uint32_t n = GET(c->n);
  entry *e = find(GET(c->table), key);
  if (GET(e->L) == key) {  /* The free of an older one was not seen. */
    SET(at(c, GET(e->at))->label, label);
    SET(at(c, GET(e->at))->entry, 0);
    return;
  }
  if (!grow_list(c, n) || !grow_table(c, n)) {
    c->lost++;
    return;
  }
  SET(at(c, n)->label, label);
  SET(at(c, n)->entry, 0);
  SET(at(c, n)->L, key);
  write_entry(find(GET(c->table), key), key, n);
  SET(c->n, n + 1);
}

void mp_coroutines_freed(mp_coroutines *c, const void *block)
{
  table *t = GET(c->table);
  entry *e = find(t, (uintptr_t)block);
  uint32_t last = GET(c->n) - 1, i = GET(e->at);
  mp_coroutine *gone;
  uintptr_t moved;
  if (GET(e->L) == 0) return;
  gone = at(c, i);
  moved = GET(at(c, last)->L);
  if (i != last) {
    SET(gone->label, GET(at(c, last)->label));
    SET(gone->entry, GET(at(c, last)->entry));
    SET(gone->L, moved);
    SET(find(t, moved)->at, i);
  }
  SET(c->n, last);
  SET(at(c, last)->L, 0);
  remove_entry(t, e);
}

const lua_State *mp_coroutines_at(const mp_coroutines *c, uint32_t i,
				  uint32_t *label)
{
  const mp_coroutine *one;
  uintptr_t L;
  if (i >= mp_coroutines_count(c)) return NULL;
  one = at(c, i);
  L = atomic_load_explicit(&one->L, memory_order_acquire);
  *label = atomic_load_explicit(&one->label, memory_order_acquire);
  /* Another one may have taken its place. */
  return L == GET(one->L) ? (const lua_State *)L : NULL;
}

/* Entries that are read until one is empty: half of them are. */
#define PROBES	256u

uint32_t mp_coroutines_peek(const mp_coroutines *c, const lua_State *L)
{
  const table *t = atomic_load_explicit(&c->table, memory_order_acquire);
  table head;
  uint32_t i, n;
  if (!mp_peek(&head, t, sizeof(head))) return 0;
  i = home(&head, (uintptr_t)L);
  for (n = 0; n < PROBES; n++, i = (i + 1) & head.mask) {
    entry e;
    if (!mp_peek(&e, &t->entries[i], sizeof(e)) || GET(e.L) == 0) return 0;
    if (GET(e.L) == (uintptr_t)L)
      return GET(e.at) < MP_COROUTINES_MAX &&
	     GET(c->pages[GET(e.at) / MP_COROUTINES_PAGE]) != NULL ?
	     GET(at(c, GET(e.at))->label) : 0;
  }
  return 0;
}

/* -- The hook ------------------------------------------------------------- */

/* The header of an older coroutine in that block must not be taken for its own:
** until the VM has written to it, it is nobody's. */
void mp_coroutines_made(mp_coroutines *c, void *block)
{
  SET_REF(block, L_GLREF, NULL);
  c->fresh = block;
  c->freshlabel = mp_coroutines_label(c, mp_vm_thread(c->vm));
}

void mp_coroutines_settle(mp_coroutines *c)
{
  const char *L = c->fresh;
  c->fresh = NULL;
  if (REF(char *, L, L_GLREF) == c->vm->g && obj_gct(L) == GCT_THREAD &&
      (c->all || c->freshlabel != 0))
    add(c, L, c->freshlabel);
}

/* -- Those that are used again -------------------------------------------- */

#ifndef MP_REFS32

#define ANY	1u		/* An entry that is not known to stay. */

static bool scan(const char *proto)
{
  const char *bc = proto + PT_BC;
  uint32_t i, n = AT(uint32_t, proto, PT_SIZEBC);
  for (i = 0; i < n; i++) {
    uint8_t op = AT(uint8_t, bc, (size_t)i * BC_SIZE);
    if (op == BC_CALLMT || op == BC_CALLT) return true;
  }
  return false;
}

/* Whether another function may take its place in its frame. A host's handlers
** are few: most have just been scanned. */
static bool has_tail_call(mp_coroutines *c, const char *fn)
{
  const char *proto = func_proto(fn);
  if ((c->scanned & ~(uintptr_t)1) != (uintptr_t)proto)
    c->scanned = (uintptr_t)proto | scan(proto);
  return c->scanned & 1;
}

/* A new closure may lie where an old one did: what it consists of tells them
** apart. */
static uint64_t entry_of(const char *fn)
{
  uint64_t key = mp_mix((uintptr_t)fn, func_id(fn));
  int i, n = AT(uint8_t, fn, FUNC_FFID) ? 0 : AT(uint8_t, fn, FUNC_NUPVALUES);
  for (i = 0; i < n; i++)
    key = mp_mix(key, AT(gcref, fn, FUNC_UPVALUES + (size_t)i * sizeof(gcref)));
  return key | 2;
}

static void look_at(mp_coroutines *c, mp_coroutine *one, const lua_State *L)
{
  const char *fn;
  uint64_t now;
  if (!c->reused || (const char *)L == c->vm->mainl) return;
  if (GET(one->label) == 0 || GET(one->entry) == ANY) return;
  fn = frame_object(lowest_base(L) + FRAME_SLOTS - 1);
  if (fn == NULL) return;
  now = entry_of(fn);
  if (GET(one->entry) == 0) {
    bool stays = AT(uint8_t, fn, FUNC_FFID) != 0 || !has_tail_call(c, fn);
    SET(one->entry, stays ? now : ANY);
  } else if (GET(one->entry) != now) {
    SET(one->label, 0);
    SET(one->entry, 0);
  }
}

static bool are_reused(void)
{
  return dlsym(RTLD_DEFAULT, "lua_resetthread") != NULL;
}

#else

static void look_at(mp_coroutines *c, mp_coroutine *one, const lua_State *L)
{
  (void)c; (void)one; (void)L;
}

/* OpenResty's LuaJIT has other references. */
static bool are_reused(void) { return false; }

#endif

void mp_coroutines_look(mp_coroutines *c, const lua_State *L)
{
  const entry *e;
  if (!c->reused || L == NULL) return;
  e = find(GET(c->table), (uintptr_t)L);
  if (GET(e->L) != 0) look_at(c, at(c, GET(e->at)), L);
}

void mp_coroutines_forget(mp_coroutines *c, const void *block)
{
  if ((c->scanned & ~(uintptr_t)1) == (uintptr_t)block) c->scanned = 0;
}

/* -- Labels --------------------------------------------------------------- */

uint32_t mp_coroutines_label(const mp_coroutines *c, const lua_State *L)
{
  const entry *e = find(GET(c->table), (uintptr_t)L);
  return L == NULL || GET(e->L) == 0 ? 0 : GET(at(c, GET(e->at))->label);
}

bool mp_coroutines_set(mp_coroutines *c, const lua_State *L, uint32_t label)
{
  const entry *e;
  mp_coroutine *one;
  if (L == NULL) return false;
  if (c->fresh == (const char *)L) mp_coroutines_settle(c);
  e = find(GET(c->table), (uintptr_t)L);
  if (GET(e->L) == 0) {
    if (label == 0) return true;
    add(c, L, label);
    e = find(GET(c->table), (uintptr_t)L);
    if (GET(e->L) == 0) return false;
  }
  one = at(c, GET(e->at));
  SET(one->label, label);
  SET(one->entry, 0);
  look_at(c, one, L);
  return true;
}

/* -- Beginning and end ---------------------------------------------------- */

mp_coroutines *mp_coroutines_new(mp_vm *vm, bool all)
{
  mp_coroutines *c = mp_calloc(1, sizeof(*c));
  const char *o;
  table *t;
  if (c == NULL) return NULL;
  t = new_table(TABLE_MIN);
  if (t == NULL) {
    mp_free(c);
    return NULL;
  }
  SET(c->table, t);
  c->vm = vm;
  c->all = all;
  c->reused = are_reused();
  c->size = (size_t)(vm->g - vm->mainl);
  for (o = REF(const char *, vm->alloc, G_ROOT); all && o != NULL;
       o = REF(const char *, o, OBJ_NEXT))
    if (obj_gct(o) == GCT_THREAD) add(c, o, 0);
  return c;
}

void mp_coroutines_free(mp_coroutines *c)
{
  uint32_t i;
  if (c == NULL) return;
  for (i = 0; i < MP_COROUTINES_PAGES; i++) mp_free(GET(c->pages[i]));
  mp_free(GET(c->table));
  mp_free(c);
}

#else

mp_coroutines *mp_coroutines_new(mp_vm *vm, bool all)
{
  (void)vm; (void)all;
  return NULL;
}

void mp_coroutines_free(mp_coroutines *c) { (void)c; }
void mp_coroutines_settle(mp_coroutines *c) { (void)c; }

void mp_coroutines_look(mp_coroutines *c, const lua_State *L)
{
  (void)c; (void)L;
}

void mp_coroutines_freed(mp_coroutines *c, const void *block)
{
  (void)c; (void)block;
}

void mp_coroutines_forget(mp_coroutines *c, const void *block)
{
  (void)c; (void)block;
}

void mp_coroutines_made(mp_coroutines *c, void *block)
{
  (void)c; (void)block;
}

uint32_t mp_coroutines_label(const mp_coroutines *c, const lua_State *L)
{
  (void)c; (void)L;
  return 0;
}

bool mp_coroutines_set(mp_coroutines *c, const lua_State *L, uint32_t label)
{
  (void)c; (void)L; (void)label;
  return false;
}

const lua_State *mp_coroutines_at(const mp_coroutines *c, uint32_t i,
				  uint32_t *label)
{
  (void)c; (void)i; (void)label;
  return NULL;
}

uint32_t mp_coroutines_peek(const mp_coroutines *c, const lua_State *L)
{
  (void)c; (void)L;
  return 0;
}

#endif
