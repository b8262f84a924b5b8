/* SPDX-License-Identifier: MIT */
/*
** Address -> number of a sampled object. See data/live.h.
*/
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "data/live.h"
#include "data/mem.h"

#define SLOTS_MIN	256u	/* A power of two. */
#define SLAB_LEAVES	60	/* Leaves in a slab, for so many slabs; */
#define SLABS_SMALL	32	/* later slabs have this many */
#define SLAB_LARGE	((size_t)2 << 20)  /* bytes: a large page. */
#define PAGE_DENSE	12	/* Bits of an address within its page: */
#define PAGE_SPARSE	8	/* 256 cells, or 16. */

typedef struct slab {
  struct slab *next;
  char leaves[];
} slab;

static uint64_t page_of(const mp_live *l, const void *addr)
{
  return (uint64_t)(uintptr_t)addr >> l->bits;
}

static uint32_t *cell_of(const mp_live *l, mp_leaf *leaf, const void *addr)
{
  uintptr_t mask = ((uintptr_t)1 << l->bits) - 1;
  return &leaf->cells[((uintptr_t)addr & mask) >> 4];
}

static size_t leaf_size(const mp_live *l)
{
  size_t size = offsetof(mp_leaf, cells) + (sizeof(uint32_t) << l->bits >> 4);
  return (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
}

/* Neighbouring pages share a cache line of the table; groups of them are
** scattered, so that large heaps do not grow into each other. */
static uint32_t home(uint64_t page, uint32_t mask)
{
  uint64_t h = (page >> 3) * UINT64_C(0x9e3779b97f4a7c15);
  return ((uint32_t)(h >> 32) * 8 + (uint32_t)(page & 7)) & mask;
}

/* Slot of a page, or the empty one where it belongs. */
static mp_leafslot *find_slot(const mp_live *l, uint64_t page)
{
  uint32_t i = home(page, l->mask);
  while (l->slots[i].leaf != NULL && l->slots[i].page != page)
    i = (i + 1) & l->mask;
  return &l->slots[i];
}

static bool set_slots(mp_live *l, uint32_t n)
{
  mp_leafslot *old = l->slots, *slots = mp_calloc(n, sizeof(*slots));
  uint32_t i, oldn = old ? l->mask + 1 : 0;
  if (slots == NULL) return false;
  l->slots = slots;
  l->mask = n - 1;
  for (i = 0; i < oldn; i++)
    if (old[i].leaf != NULL) *find_slot(l, old[i].page) = old[i];
  mp_free(old);
  return true;
}

bool mp_live_init(mp_live *l, bool dense)
{
  memset(l, 0, sizeof(*l));
  if (dense) memset(l->hashes, 255, sizeof(l->hashes));
  l->bits = dense ? PAGE_DENSE : PAGE_SPARSE;
  return set_slots(l, SLOTS_MIN);
}

void mp_live_each(const mp_live *l, mp_live_see *see, void *data)
{
  uintptr_t page;
  uint32_t i, k, cells = 1u << l->bits >> 4;
  for (i = 0; i <= l->mask; i++) {
    const mp_leaf *leaf = l->slots[i].leaf;
    page = (uintptr_t)l->slots[i].page << l->bits;
    for (k = 0; leaf != NULL && k < cells; k++)
      if (leaf->cells[k] != 0)
	see(data, (const void *)(page + ((uintptr_t)k << 4)), leaf->cells[k]);
  }
}

/* -- Leaves -------------------------------------------------------------- */

static void leaf_free(mp_live *l, mp_leaf *leaf)
{
  leaf->next = l->freeleaves;
  l->freeleaves = leaf;
}

/* A large table is walked at random, as the heap is: large pages spare the
** processor most of the misses in its table of pages. */
static slab *slab_large(void)
{
  slab *s = mp_mem_fails() ? NULL :
	    mp_mem_count(aligned_alloc(SLAB_LARGE, SLAB_LARGE));
  if (s == NULL) return NULL;
  madvise(s, SLAB_LARGE, MADV_HUGEPAGE);
  return memset(s, 0, SLAB_LARGE);
}

/* Makes free leaves. False: no memory. */
static bool slab_new(mp_live *l)
{
  bool large = l->bits == PAGE_DENSE && l->nslabs >= SLABS_SMALL;
  size_t size = sizeof(slab) + SLAB_LEAVES * leaf_size(l), n = SLAB_LEAVES;
  slab *s = large ? slab_large() : mp_calloc(1, size);
  if (s == NULL) return false;
  if (large) {
    size = SLAB_LARGE;
    n = (size - sizeof(slab)) / leaf_size(l);
  }
  s->next = l->slabs;
  l->slabs = s;
  l->nslabs++;
  l->slabbytes += size;
  while (n-- > 0)
    leaf_free(l, (mp_leaf *)(void *)(s->leaves + n * leaf_size(l)));
  return true;
}

static mp_leaf *leaf_new(mp_live *l)
{
  mp_leaf *leaf;
  if (l->freeleaves == NULL && !slab_new(l)) return NULL;
  leaf = l->freeleaves;
  l->freeleaves = leaf->next;
  return leaf;
}

/* The leaf of a page that was looked for not long ago, or NULL. */
static mp_leaf *last_leaf(const mp_live *l, uint64_t page)
{
  uint32_t i = page & (MP_LIVE_LAST - 1);
  return l->last[i].page == page ? l->last[i].leaf : NULL;
}

static void set_last(mp_live *l, uint64_t page, mp_leaf *leaf)
{
  uint32_t i = page & (MP_LIVE_LAST - 1);
  l->last[i].page = page;
  l->last[i].leaf = leaf;
}

/* The leaf of a page, made if there is none. NULL: no memory. */
static __attribute__((noinline)) mp_leaf *leaf_get(mp_live *l, uint64_t page)
{
  mp_leafslot *slot = find_slot(l, page);
  mp_leaf *leaf;
  if (slot->leaf == NULL) {
    if (l->npages >= l->mask / 2) {
      if (!set_slots(l, (l->mask + 1) * 2)) return NULL;
      slot = find_slot(l, page);
    }
    if ((leaf = leaf_new(l)) == NULL) return NULL;
    slot->page = page;
    slot->leaf = leaf;
    l->npages++;
  }
  set_last(l, page, slot->leaf);
  return slot->leaf;
}

/* Empties a slot and moves those behind it up, so that no search stops at
** the gap too early. */
static void remove_slot(mp_live *l, uint32_t i)
{
  uint32_t j = i;
  for (;;) {
    uint32_t h;
    j = (j + 1) & l->mask;
    if (l->slots[j].leaf == NULL) break;
    h = home(l->slots[j].page, l->mask);
    if (((j - h) & l->mask) >= ((j - i) & l->mask)) {
      l->slots[i] = l->slots[j];
      i = j;
    }
  }
  l->slots[i].leaf = NULL;
}

static void leaf_drop(mp_live *l, uint64_t page, mp_leaf *leaf)
{
  remove_slot(l, (uint32_t)(find_slot(l, page) - l->slots));
  leaf_free(l, leaf);
  l->npages--;
  set_last(l, page, NULL);
}

/* -- The filter ---------------------------------------------------------- */

/* In a dense table the filter always answers "maybe", and is not maintained. */
static bool filters(const mp_live *l) { return l->bits != PAGE_DENSE; }

static void filter_add(mp_live *l, const void *addr)
{
  uint8_t *n = &l->hashes[mp_filter_hash(addr)];
  if (*n < 255) ++*n;
}

static void filter_remove(mp_live *l, const void *addr)
{
  uint8_t *n = &l->hashes[mp_filter_hash(addr)];
  if (*n < 255) --*n;
}

/* -- Objects ------------------------------------------------------------- */

uint32_t mp_live_put(mp_live *l, const void *addr, uint32_t id)
{
  uint64_t page = page_of(l, addr);
  mp_leaf *leaf = last_leaf(l, page);
  uint32_t *cell, old;
  if (leaf == NULL && (leaf = leaf_get(l, page)) == NULL)
    return MP_LIVE_NOMEM;
  cell = cell_of(l, leaf, addr);
  old = *cell;
  *cell = id;
  if (old == 0) {
    leaf->count++;
    l->count++;
    if (filters(l)) filter_add(l, addr);
  }
  return old;
}

/* The leaf of a page, or NULL: there is none. */
static __attribute__((noinline)) mp_leaf *leaf_find(mp_live *l, uint64_t page)
{
  mp_leaf *leaf = find_slot(l, page)->leaf;
  if (leaf != NULL) set_last(l, page, leaf);
  return leaf;
}

uint32_t mp_live_find(mp_live *l, const void *addr)
{
  uint64_t page = page_of(l, addr);
  mp_leaf *leaf = last_leaf(l, page);
  uint32_t *cell, id;
  if (leaf == NULL && (leaf = leaf_find(l, page)) == NULL) return 0;
  cell = cell_of(l, leaf, addr);
  id = *cell;
  if (id == 0) return 0;
  *cell = 0;
  if (filters(l)) filter_remove(l, addr);
  l->count--;
  if (--leaf->count == 0) leaf_drop(l, page, leaf);
  return id;
}

uint32_t mp_live_get(const mp_live *l, const void *addr)
{
  mp_leaf *leaf;
  if (!mp_live_may(l, addr)) return 0;
  leaf = find_slot(l, page_of(l, addr))->leaf;
  return leaf != NULL ? *cell_of(l, leaf, addr) : 0;
}

size_t mp_live_memory(const mp_live *l)
{
  size_t slots = (size_t)l->mask + 1;
  return slots * sizeof(*l->slots) + l->slabbytes;
}

void mp_live_free(mp_live *l)
{
  slab *s, *next;
  for (s = l->slabs; s != NULL; s = next) {
    next = s->next;
    mp_free(s);
  }
  mp_free(l->slots);
  memset(l, 0, sizeof(*l));
}
