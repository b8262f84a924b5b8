/* SPDX-License-Identifier: MIT */
/*
** The objects of the heap. See heapwalk/heap.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "heapwalk/heap.h"
#include "vm/frame.h"
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
  if (h->most-- == 0) h->endless = h->failed = true;
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

bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L,
		  uint64_t most)
{
  const char *alloc;
  memset(h, 0, sizeof(*h));
  h->layout = layout;
  h->most = most;
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

/* Whether a function returns at its end alone, so that the variables there are
** those that it had when it returned. */
static bool ends_once(const char *pt)
{
  uint32_t i, n = AT(uint32_t, pt, PT_SIZEBC);
  for (i = 1; i + 1 < n; i++) {
    uint8_t op = AT(uint8_t, pt, PT_BC + i * BC_SIZE);
    if ((op >= BC_RETM && op <= BC_RET1) || op == BC_CALLMT || op == BC_CALLT)
      return false;
  }
  return true;
}

/* Slots that our finalizer has used above its top. */
#define USED		2

/* Whether C called the function of that frame when nothing else ran. */
static bool is_lowest(const mp_heap *h, const slot *f)
{
  const slot *top = AT(const slot *, h->mainl, L_TOP);
  if (f <= top + USED) return true;
  return LINK_ISC(frame_link(f)) &&
	 frame_prev(f) >= frame_bottom(h->mainl) &&
	 frame_prev(f) <= top + FRAME_SLOTS;
}

/* The prototype of the function of a frame, of which nothing is certain, if it
** is the main chunk; or NULL. Such a function has any number of arguments, and
** its frame stands above another. Functions write to slots from the lowest up:
** where its frame is whole, nothing has written to the variables above it. */
static const char *main_chunk(mp_heap *h, const slot *f)
{
  const char *fn = frame_object(f), *pt;
  const slot *below;
  if (!LINK_ISVARG(frame_link(f)) || fn == NULL) return NULL;
  below = frame_prev(f);
  if (below <= frame_bottom(h->mainl) || below >= f || !is_lowest(h, below) ||
      mp_places_find(&h->places, fn) == 0 || obj_gct(fn) != GCT_FUNC)
    return NULL;
  pt = func_proto(fn);
  return pt != NULL && mp_places_find(&h->places, pt) != 0 &&
	 mp_proto_firstline(pt) == 0 ? pt : NULL;
}

void mp_heap_leave(mp_heap *h)
{
  const slot *f = AT(const slot *, h->mainl, L_TOP) + FRAME_SLOTS;
  const slot *end = REF(const slot *, h->mainl, L_STACK) +
		    AT(uint32_t, h->mainl, L_STACKSIZE);
  const char *pt = NULL;
  while (f < end && (pt = main_chunk(h, f)) == NULL) f++;
  if (pt != NULL && ends_once(pt) && REF(const char *, pt, PT_VARINFO) != NULL)
    h->left = f;
}

const char *mp_heap_leftname(const mp_heap *h, const slot *o)
{
  const char *pt = func_proto(frame_object(h->left));
  return mp_proto_variable(pt, AT(uint32_t, pt, PT_SIZEBC) - 1,
			   (uint32_t)(o - h->left - 1));
}

#else

void mp_heap_leave(mp_heap *h) { (void)h; }

const char *mp_heap_leftname(const mp_heap *h, const uint64_t *o)
{
  (void)h; (void)o;
  return NULL;
}

bool mp_heap_find(mp_heap *h, const mp_heaplayout *layout, lua_State *L,
		  uint64_t most)
{
  (void)h; (void)layout; (void)L; (void)most;
  return false;
}

void mp_heap_close(mp_heap *h) { (void)h; }

const char *mp_heap_argument(mp_heap *h, lua_State *L, int index)
{
  (void)h; (void)L; (void)index;
  return NULL;
}

#endif
