/* SPDX-License-Identifier: MIT */
/*
** The objects of the heap. See heapwalk/heap.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "heapwalk/heap.h"
#include "vm/layout.h"

#ifdef MP_LAYOUT

#define AHEAD		16	/* Chains of strings between two steps. */

static void add_trace(mp_heap *h, const char *t)
{
  uint32_t n = AT(uint16_t, t, TR_NUMBER), i = h->ntraces;
  if (n == 0) return;  /* It was flushed. */
  if (!mp_mem_room(&h->traces, n, &h->ntraces, sizeof(*h->traces))) {
    h->failed = true;
    return;
  }
  for (; i < h->ntraces; i++) h->traces[i] = NULL;
  h->traces[n] = t;
}

static void add_fixed(mp_heap *h, const char *o)
{
  if (!mp_mem_room(&h->fixed, h->nfixed, &h->capfixed, sizeof(*h->fixed))) {
    h->failed = true;
    return;
  }
  h->fixed[h->nfixed++] = o;
}

static void add_list(mp_heap *h, const char *o);

static void add_object(mp_heap *h, const char *o)
{
  if (!mp_places_add(&h->places, o)) h->failed = true;
  if (AT(uint8_t, o, OBJ_MARKED) & OBJ_FIXED) add_fixed(h, o);
  if (obj_gct(o) == GCT_TRACE) add_trace(h, o);
  else if (obj_gct(o) == GCT_THREAD)
    add_list(h, REF(const char *, o, L_OPENUPVAL));
}

static void add_list(mp_heap *h, const char *o)
{
  for (; o != NULL && !h->failed; o = REF(const char *, o, OBJ_NEXT))
    add_object(h, o);
}

/* Adds the objects of a ring, of which the collector knows the last one. */
static void add_ring(mp_heap *h, const char *last)
{
  const char *o = last;
  while (o != NULL && !h->failed) {
    o = REF(const char *, o, OBJ_NEXT);
    add_object(h, o);
    if (o == last) break;
  }
}

const char *mp_heap_strtab(const mp_heap *h)
{
  return h->g + h->layout->strtab;
}

static inline const char *first_string(uint64_t chain)
{
  return (const char *)(uintptr_t)(chain & ~STRTAB_CHAIN);
}

/* Strings lie anywhere in memory: fetches the first one of a chain, and the
** second one of a chain whose first one was fetched before. */
static inline void fetch_chain(uint64_t near, uint64_t far)
{
  const char *o = first_string(near);
  __builtin_prefetch(first_string(far));
  if (o != NULL) __builtin_prefetch(REF(const char *, o, OBJ_NEXT));
}

static void add_chain(mp_heap *h, const char *o)
{
  uint32_t n = 0;
  for (; o != NULL && !h->failed; o = REF(const char *, o, OBJ_NEXT)) {
    add_object(h, o);
    n++;
  }
  if (n > 0) h->chains_used++;
  if (n > h->longest) h->longest = n;
}

static void add_strings(mp_heap *h)
{
  const char *table = mp_heap_strtab(h);
  const gcref *chains = AT(const gcref *, table, 0);
  uint32_t i, mask = AT(uint32_t, table, STRTAB_MASK);
  for (i = 0; i <= mask && !h->failed; i++) {
    if (mask - i > 2 * AHEAD) fetch_chain(chains[i + AHEAD],
					  chains[i + 2 * AHEAD]);
    add_chain(h, first_string(chains[i]));
  }
  h->chains = mask + 1;
}

bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L)
{
  const char *alloc;
  memset(h, 0, sizeof(*h));
  h->layout = layout;
  h->g = REF(const char *, L, L_GLREF);
  h->mainl = h->g - h->layout->mainl;
  h->modestr = REF(const char *, h->g,
		   layout->roots + MM_MODE * sizeof(gcref));
  alloc = h->g + layout->alloc;
  add_list(h, REF(const char *, alloc, G_ROOT));
  add_ring(h, REF(const char *, alloc, G_MMUDATA));
  add_strings(h);
  return !h->failed && mp_places_close(&h->places);
}

void mp_heap_close(mp_heap *h)
{
  mp_places_free(&h->places);
  mp_free(h->traces);
  mp_free(h->fixed);
  mp_free(h->lasting);
  mp_map_free(&h->classes);
  mp_free(h->keys);
  memset(h, 0, sizeof(*h));
}

const char *mp_heap_argument(mp_heap *h, lua_State *L, int index)
{
  const slot *base = AT(const slot *, L, L_BASE);
  slot v = base[index - 1];
  h->self = (const char *)L;
  h->hidden = base - FRAME_SLOTS;
  return is_object(v) ? PTR(v) : NULL;
}

#else

bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L)
{
  (void)h; (void)layout; (void)L;
  return false;
}

void mp_heap_close(mp_heap *h) { (void)h; }

const char *mp_heap_argument(mp_heap *h, lua_State *L, int index)
{
  (void)h; (void)L; (void)index;
  return NULL;
}

#endif
