/* SPDX-License-Identifier: MIT */
/*
** The heap at one moment. See heapwalk/walk.h; the fields are documented in
** jit.mp(3).
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "data/clock.h"
#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/blocks.h"
#include "heapwalk/cmemory.h"
#include "heapwalk/copied.h"
#include "heapwalk/file.h"
#include "heapwalk/prove.h"
#include "heapwalk/walk.h"
#include "profile/field.h"
#include "profile/moment.h"
#include "sample/alloc.h"

/* The data of a walk while the program stands still. */
typedef struct walking {
  mp_alloc *heap;		/* The sampler; or NULL. */
  mp_heapwalk *w;
  mp_heap h;
  mp_graph g;
  const mp_profile *p;		/* The profile; or NULL. */
  mp_cmemory c;
  mp_map rows;			/* Row and line -> join + 1. */
  mp_map crows;			/* The same, of C memory. */
  bool copied;			/* The heap is another process's. */
  double began;			/* By the wall clock. */
  uint64_t bytes;		/* Of all objects. */
  bool failed;
} walking;

/* -- Sums ---------------------------------------------------------------- */

static void add_object(void *ud, uint32_t number, const void *o)
{
  walking *k = ud;
  unsigned gct = mp_heap_typeno(o);
  uint64_t size = mp_heap_size(&k->h, o);
  mp_heapsum *sum = mp_graph_reached(&k->g, number) ? &k->w->held[gct] :
		    &k->w->garbage[gct];
  sum->count++;
  sum->bytes += size;
  k->bytes += size;
  k->w->types[gct] = mp_heap_type(o);
}

/* -- Samples ------------------------------------------------------------- */

static mp_heapjoin *get_join(walking *k, uint32_t row, uint32_t line)
{
  mp_heapwalk *w = k->w;
  uint64_t key = mp_mix(mp_mix(1, row), line);
  uint32_t i = mp_map_get(&k->rows, key);
  if (i != 0) return &w->joins[i - 1];
  if (!mp_mem_room(&w->joins, w->njoins, &w->capjoins, sizeof(*w->joins))) {
    k->failed = true;
    return NULL;
  }
  w->joins[w->njoins] = (mp_heapjoin){ row, line, 0, 0, 1e300, -1 };
  if (!mp_map_put(&k->rows, key, ++w->njoins)) k->failed = true;
  return &w->joins[w->njoins - 1];
}

static void join(walking *k, uint32_t number, const mp_sample *s)
{
  uint32_t line = mp_holders_line(&k->w->holders, number);
  mp_heapjoin *j = get_join(k, s->row, line);
  if (j == NULL) return;
  j->objects += s->objects;
  j->bytes += s->objects * (double)s->size;
  if (!mp_alloc_has_records(k->heap)) return;
  if ((double)s->birth < j->first) j->first = (double)s->birth;
  if ((double)s->birth > j->last) j->last = (double)s->birth;
}

/* Looks up the blocks of an object among the sampled ones. */
static void join_object(void *ud, uint32_t number, const void *o)
{
  walking *k = ud;
  mp_heapparts p;
  mp_sample s;
  int i;
  if (k->failed || !mp_graph_reached(&k->g, number)) return;
  mp_heap_parts(&k->h, o, &p);
  for (i = 0; i < MP_HEAP_PARTS; i++)
    if (p.size[i] != 0 && mp_alloc_find(k->heap, p.block[i], p.size[i], &s))
      join(k, number, &s);
}

/* -- C memory ------------------------------------------------------------ */

static mp_heapcjoin *get_cjoin(walking *k, uint32_t row, uint32_t line,
			       bool led)
{
  mp_heapc *c = &k->w->c;
  uint64_t key = mp_mix(mp_mix(mp_mix(1, row), line), led);
  uint32_t i = mp_map_get(&k->crows, key);
  if (i != 0) return &c->joins[i - 1];
  if (!mp_mem_room(&c->joins, c->njoins, &c->capjoins, sizeof(*c->joins))) {
    k->failed = true;
    return NULL;
  }
  c->joins[c->njoins] = (mp_heapcjoin){ row, line, led, 0, 0 };
  if (!mp_map_put(&k->crows, key, ++c->njoins)) k->failed = true;
  return &c->joins[c->njoins - 1];
}

/* Finds the lines of the blocks. */
static void join_blocks(walking *k)
{
  uint32_t i;
  for (i = 0; i < k->c.nblocks && !k->failed; i++) {
    const mp_native_block *b = &k->c.blocks[i];
    uint32_t node = k->c.owner[i];
    bool led = node != MP_GRAPH_NONE;
    uint32_t line = led && node > 0 ?
		    mp_holders_line(&k->w->holders, node) : 0;
    mp_heapcjoin *j = get_cjoin(k, b->row, line, led);
    if (j == NULL) return;
    j->objects += b->objects;
    j->bytes += mp_cmemory_bytes(b);
  }
}

/* The profile's C memory, if it has any. Where that fails, the walk goes on
** without. */
static void find_cmemory(walking *k)
{
  mp_heapc *c = &k->w->c;
  mp_native_block *blocks;
  uint32_t n;
  if (k->p == NULL || !mp_native_has(&k->p->capture)) return;
  mp_blocks_prove();
  blocks = mp_native_blocks(&k->p->capture, &n, &c->why);
  if (c->why != NULL) return;
  c->known = blocks != NULL && mp_cmemory_find(&k->c, blocks, n, &k->h, &k->g,
					       k->p);
  if (!c->known) {
    c->why = "there is no memory for it";
    return;
  }
  c->partly = k->c.partly;
  c->all = k->c.all;
}

/* -- The walk ------------------------------------------------------------ */

/* The bytes that nothing holds. */
static uint64_t garbage(const mp_heapwalk *w)
{
  uint64_t sum = 0;
  int i;
  for (i = 0; i < MP_HEAPWALK_TYPES; i++) sum += w->garbage[i].bytes;
  return sum;
}

static const char no_memory[] = "there is no memory for it";

/* Walks the heap, which has been opened. */
static const char *walk(walking *k, const mp_heaprequest *request)
{
  mp_heapwalk *w = k->w;
  if (request->closing) mp_heap_leave(&k->h);
  w->closing = request->closing;
  w->left = k->h.left != NULL;
  if (request->lasting && !mp_heap_lasting(&k->h)) return no_memory;
  if (!mp_heap_graph(&k->h, &k->g) || !mp_graph_dominate(&k->g))
    return no_memory;
  if (k->copied && (w->why = mp_copied_check(&k->h, &k->g)) != NULL)
    return w->why;
  mp_places_each(&k->h.places, add_object, k);
  if (!mp_heapkinds_find(&w->kinds, &k->h, &k->g, &w->slots)) return no_memory;
  w->chains = k->h.chains;
  w->chains_used = k->h.chains_used;
  w->longest = k->h.longest;
  w->adds_up = mp_heap_own(&k->h, k->bytes, &w->own);
  find_cmemory(k);
  if (!mp_holders_make(&w->holders, &k->h, &k->g, request->share,
		       w->c.known ? &k->c : NULL))
    return no_memory;
  if (w->c.known) join_blocks(k);
  if (k->heap != NULL && mp_alloc_vm(k->heap)->proved)
    mp_places_each(&k->h.places, join_object, k);
  if (request->file) {
    w->file = mp_heapfile_make(&k->h, &k->g, &w->holders, &w->own, garbage(w),
			       &w->filelen);
    if (w->file == NULL) return no_memory;
  }
  w->least = request->share * (double)w->holders.lines[0].bytes;
  w->edges = k->g.nedges;
  w->memory = k->g.usage.peak + mp_places_memory(&k->h.places);
  return k->failed ? no_memory : NULL;
}

/* Looks at the VM's allocator, which is below the profiler's. */
static void look_arena(const mp_profile *p, lua_State *L, mp_arena *a)
{
  void *ud;
  lua_Alloc f = lua_getallocf(L, &ud);
  if (p != NULL && mp_alloc_installed(p->heap))
    f = mp_alloc_original(p->heap, &ud);
  mp_arena_look(f, ud, a);
}

/* Begins a walk. Returns NULL if there is no memory. */
static mp_heapwalk *begin(walking *k)
{
  memset(k, 0, sizeof(*k));
  k->began = mp_clock_wall();
  return k->w = mp_calloc(1, sizeof(*k->w));
}

/* Frees all but the walk, which is returned. */
static mp_heapwalk *finish(walking *k)
{
  mp_map_free(&k->rows);
  mp_map_free(&k->crows);
  mp_cmemory_free(&k->c);
  mp_graph_free(&k->g);
  mp_heap_close(&k->h);
  mp_holders_trim(&k->w->holders);
  k->w->seconds = mp_clock_wall() - k->began;
  return k->w;
}

mp_heapwalk *mp_heapwalk_take(const mp_profile *p, lua_State *L,
			      const mp_heaprequest *request)
{
  walking k;
  mp_heapwalk *w = begin(&k);
  if (w == NULL) return NULL;
  k.heap = p != NULL ? p->heap : NULL;
  k.p = p;
  if (mp_heap_open(&k.h, L)) w->why = walk(&k, request);
  else w->why = k.h.layout->proved ? no_memory : k.h.layout->why;
  if (w->why == NULL) look_arena(p, L, &w->arena);
  w->at = p != NULL ? k.began - p->span.wall0 : 0;
  return finish(&k);
}

mp_heapwalk *mp_heapwalk_copied(const mp_copied *c,
				const mp_heaplayout *layout,
				const mp_heaprequest *request)
{
  walking k;
  mp_heapwalk *w = begin(&k);
  if (w == NULL) return NULL;
  k.copied = true;
  w->why = mp_copied_find(&k.h, c, layout);
  if (w->why == NULL) w->why = walk(&k, request);
  return finish(&k);
}

void mp_heapwalk_nofile(mp_heapwalk *w)
{
  free(w->file);
  w->file = NULL;
}

void mp_heapwalk_free(mp_heapwalk *w)
{
  if (w == NULL) return;
  if (w->mapped > 0) {
    munmap(w, w->mapped);
    return;
  }
  mp_holders_free(&w->holders);
  mp_heapkinds_free(&w->kinds);
  mp_free(w->joins);
  mp_free(w->c.joins);
  free(w->file);
  mp_free(w);
}

void mp_heapwalk_refresh(mp_profile *p, lua_State *L,
			 const mp_heaprequest *request, mp_occasion occasion)
{
  mp_heaprequest now = *request;
  if (request->share <= 0) return;
  if (occasion != MP_MEANWHILE) mp_span_end(&p->span, mp_cpu_time(&p->cpu));
  mp_heapwalk_free(p->walk);
  now.closing = occasion == MP_CLOSING;
  p->walk = mp_heapwalk_take(p, L, &now);
}

void mp_heapwalk_drop(mp_profile *p)
{
  mp_heapwalk_free(p->walk);
  p->walk = NULL;
}

/* -- As a table ---------------------------------------------------------- */

static void push_types(lua_State *L, const mp_heapwalk *w)
{
  int i, n = 0;
  lua_newtable(L);
  for (i = 0; i < MP_HEAPWALK_TYPES; i++) {
    if (w->types[i] == NULL) continue;
    lua_createtable(L, 0, 5);
    mp_field_string(L, "type", w->types[i]);
    mp_field(L, "count", (double)w->held[i].count);
    mp_field(L, "bytes", (double)w->held[i].bytes);
    mp_field(L, "garbage_count", (double)w->garbage[i].count);
    mp_field(L, "garbage_bytes", (double)w->garbage[i].bytes);
    lua_rawseti(L, -2, ++n);
  }
}

static void push_kinds(lua_State *L, const mp_heapkinds *list)
{
  uint32_t i;
  lua_createtable(L, (int)list->n, 0);
  for (i = 0; i < list->n; i++) {
    const mp_heapkind *k = &list->a[i];
    lua_createtable(L, 0, 6);
    mp_field_string(L, "kind", mp_heapkind_word(k->of));
    mp_field_string(L, "name", k->name);
    mp_field(L, "count", (double)k->count);
    mp_field(L, "bytes", (double)k->bytes);
    mp_field(L, "size", (double)k->size);
    mp_field(L, "slots", (double)k->slots);
    mp_field(L, "used", (double)k->used);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_own(lua_State *L, const mp_heapown *own)
{
  lua_createtable(L, 0, 5);
  mp_field(L, "state", (double)own->state);
  mp_field(L, "strings", (double)own->strtab);
  mp_field(L, "ctypes", (double)own->ctypes);
  mp_field(L, "buffer", (double)own->buffer);
  mp_field(L, "rest", (double)own->rest);
}

static void push_slots(lua_State *L, const mp_heapslots *s)
{
  if (s->all == 0) return;
  mp_field(L, "slots", (double)s->all);
  mp_field(L, "slots_used", (double)s->used);
  mp_field(L, "slots_bytes", (double)s->bytes);
  mp_field(L, "slots_empty", (double)s->empty);
}

static void push_lines(lua_State *L, const mp_holders *s,
		       const mp_baseline *b, const uint64_t *paths)
{
  double was;
  uint32_t i;
  lua_createtable(L, (int)s->nlines, 0);
  for (i = 1; i < s->nlines; i++) {
    const mp_holder *l = &s->lines[i];
    lua_createtable(L, 0, 12);
    mp_field(L, "parent", l->parent);
    mp_field(L, "count", l->count);
    mp_field(L, "self", (double)l->self);
    mp_field(L, "bytes", (double)l->bytes);
    if (l->c > 0) mp_field(L, "c", l->c);
    was = b != NULL ? mp_baseline_bytes(b, paths[i]) : -1;
    if (was >= 0) mp_field(L, "was", was);
    push_slots(L, &l->slots);
    mp_field_string(L, "type", l->type);
    mp_field_string(L, "label", l->label);
    mp_field_string(L, "what", l->what);
    lua_rawseti(L, -2, (int)i);
  }
}

/* The lines, with what they held in the baseline. */
static void push_compared(lua_State *L, const mp_heapwalk *w,
			  const mp_baseline *b)
{
  uint64_t *paths = NULL;
  if (b != NULL && b->at < 0) b = NULL;
  if (b != NULL) {
    mp_field(L, "base_at", b->at);
    mp_field(L, "base_least", b->least);
    paths = lua_newuserdata(L, w->holders.nlines * sizeof(*paths));
    mp_baseline_paths(&w->holders, paths);
  }
  push_lines(L, &w->holders, b, paths);
  lua_setfield(L, b != NULL ? -3 : -2, "lines");
  if (b != NULL) lua_pop(L, 1);
}

static void push_joins(lua_State *L, const mp_heapwalk *w)
{
  uint32_t i;
  lua_createtable(L, (int)w->njoins, 0);
  for (i = 0; i < w->njoins; i++) {
    const mp_heapjoin *j = &w->joins[i];
    lua_createtable(L, 0, 6);
    mp_field(L, "row", j->row);
    mp_field(L, "line", j->line);
    mp_field(L, "objects", j->objects);
    mp_field(L, "bytes", j->bytes);
    if (j->last >= 0) {
      mp_field(L, "first", j->first / 1000);
      mp_field(L, "last", j->last / 1000);
    }
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_c(lua_State *L, const mp_heapwalk *w)
{
  const mp_heapc *c = &w->c;
  mp_field_string(L, "c_why", c->why);
  if (!c->known) return;
  mp_field(L, "c_bytes", c->all);
  mp_field(L, "c_led", w->holders.lines[0].c);
  mp_field_bool(L, "c_partly", c->partly);
}

/* Sets "arena", if it is known. */
static void push_arena(lua_State *L, const mp_arena *a)
{
  if (a->system == 0) return;
  lua_createtable(L, 0, 3);
  mp_field(L, "system", (double)a->system);
  mp_field(L, "free", (double)a->free);
  mp_field(L, "largest", (double)a->largest);
  lua_setfield(L, -2, "arena");
}

void mp_heapwalk_push(lua_State *L, const mp_heapwalk *w,
		      const mp_baseline *b)
{
  lua_createtable(L, 0, 24);
  mp_field(L, "at", w->at);
  mp_field(L, "seconds", w->seconds);
  if (w->child > 0) mp_field(L, "child", w->child);
  mp_field_string(L, "alone", w->alone);
  mp_field_string(L, "why", w->why);
  if (w->why != NULL) return;
  mp_field(L, "total", (double)w->own.total);
  mp_field_bool(L, "adds_up", w->adds_up);
  mp_field_bool(L, "closing", w->closing);
  mp_field_bool(L, "left", w->left);
  mp_field(L, "held", (double)w->holders.lines[0].bytes);
  mp_field(L, "least", w->least);
  mp_field(L, "references", (double)w->edges);
  mp_field(L, "memory", (double)w->memory);
  push_slots(L, &w->slots);
  push_types(L, w);
  lua_setfield(L, -2, "types");
  mp_field(L, "chains", w->chains);
  mp_field(L, "chains_used", w->chains_used);
  mp_field(L, "chain_longest", w->longest);
  push_kinds(L, &w->kinds);
  lua_setfield(L, -2, "kinds");
  push_own(L, &w->own);
  lua_setfield(L, -2, "own");
  push_arena(L, &w->arena);
  push_compared(L, w, b);
  push_joins(L, w);
  lua_setfield(L, -2, "joins");
  push_c(L, w);
  if (w->file == NULL) return;
  lua_pushlstring(L, w->file, w->filelen);
  lua_setfield(L, -2, "heapsnapshot");
}

static void push_cjoin(lua_State *L, const mp_heapcjoin *j, int row)
{
  lua_createtable(L, 0, 5);
  mp_field(L, "row", row);
  mp_field(L, "line", j->line);
  mp_field(L, "led", j->led);
  mp_field(L, "objects", j->objects);
  mp_field(L, "bytes", j->bytes);
}

/* The blocks whose rows the snapshot on top of the stack has. */
static void push_cjoins(lua_State *L, const mp_heapc *c)
{
  uint32_t i;
  int n = 0, row;
  lua_getfield(L, -1, "native_place");
  lua_newtable(L);
  for (i = 0; lua_istable(L, -2) && i < c->njoins; i++) {
    lua_rawgeti(L, -2, (int)c->joins[i].row);
    row = (int)lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (row == 0) continue;
    push_cjoin(L, &c->joins[i], row);
    lua_rawseti(L, -2, ++n);
  }
  lua_remove(L, -2);
}

void mp_heapwalk_add(lua_State *L, mp_profile *p, const mp_extent *e,
		     const mp_scope *scope)
{
  const mp_heapwalk *w = scope->walk != NULL ? scope->walk : p->walk;
  (void)e;
  if (w == NULL) return;
  mp_heapwalk_push(L, w, scope->base);
  if (w->c.known) {
    lua_pushvalue(L, -2);
    push_cjoins(L, &w->c);
    lua_setfield(L, -3, "cjoins");
    lua_pop(L, 1);
  }
  lua_setfield(L, -2, "walk");
  lua_pushnil(L);
  lua_setfield(L, -2, "native_place");
}
