/* SPDX-License-Identifier: MIT */
/*
** A table of cells, grouped by page. See data/pages.h.
*/
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "data/mem.h"
#include "data/pages.h"

#define SLOTS_MIN	256u	/* A power of two. */
#define SLAB_LEAVES	60	/* Leaves in a slab, for this many slabs; */
#define SLABS_SMALL	32	/* later slabs have this many */
#define SLAB_LARGE	((size_t)2 << 20)  /* bytes: a large page. */
#define PAGE_CELLS	(1u << MP_PAGE_BITS >> 4)

typedef struct slab {
  struct slab *next;
  char leaves[];
} slab;

static size_t leaf_size(void)
{
  size_t size = offsetof(mp_leaf, cells) + PAGE_CELLS * sizeof(uint32_t);
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
static mp_leafslot *find_slot(const mp_pages *t, uint64_t page)
{
  uint32_t i = home(page, t->mask);
  while (t->slots[i].leaf != NULL && t->slots[i].page != page)
    i = (i + 1) & t->mask;
  return &t->slots[i];
}

static bool set_slots(mp_pages *t, uint32_t n)
{
  mp_leafslot *old = t->slots, *slots = mp_calloc(n, sizeof(*slots));
  uint32_t i, oldn = old ? t->mask + 1 : 0;
  if (slots == NULL) return false;
  t->slots = slots;
  t->mask = n - 1;
  for (i = 0; i < oldn; i++)
    if (old[i].leaf != NULL) *find_slot(t, old[i].page) = old[i];
  mp_free(old);
  return true;
}

bool mp_pages_init(mp_pages *t)
{
  return set_slots(t, SLOTS_MIN);
}

void mp_pages_each(const mp_pages *t, mp_pages_see *f, void *data)
{
  uint32_t i, k;
  for (i = 0; i <= t->mask; i++) {
    const mp_leaf *leaf = t->slots[i].leaf;
    uintptr_t page = (uintptr_t)t->slots[i].page << MP_PAGE_BITS;
    for (k = 0; leaf != NULL && k < PAGE_CELLS; k++)
      if (leaf->cells[k] != 0)
	f(data, (const void *)(page + ((uintptr_t)k << 4)), leaf->cells[k]);
  }
}

/* -- Leaves -------------------------------------------------------------- */

static void leaf_free(mp_pages *t, mp_leaf *leaf)
{
  leaf->next = t->freeleaves;
  t->freeleaves = leaf;
}

/* A large table is walked at random, as the heap is: large pages spare the
** processor most of the misses in its table of pages. */
static slab *slab_large(void)
{
  slab *s = mp_aligned_alloc(SLAB_LARGE, SLAB_LARGE);
  if (s == NULL) return NULL;
  madvise(s, SLAB_LARGE, MADV_HUGEPAGE);
  return memset(s, 0, SLAB_LARGE);
}

/* Makes free leaves. False: no memory. */
static bool slab_new(mp_pages *t)
{
  bool large = t->nslabs >= SLABS_SMALL;
  size_t size = sizeof(slab) + SLAB_LEAVES * leaf_size(), n = SLAB_LEAVES;
  slab *s = large ? slab_large() : mp_calloc(1, size);
  if (s == NULL) return false;
  if (large) {
    size = SLAB_LARGE;
    n = (size - sizeof(slab)) / leaf_size();
  }
  s->next = t->slabs;
  t->slabs = s;
  t->nslabs++;
  t->slabbytes += size;
  while (n-- > 0)
    leaf_free(t, (mp_leaf *)(void *)(s->leaves + n * leaf_size()));
  return true;
}

static mp_leaf *leaf_new(mp_pages *t)
{
  mp_leaf *leaf;
  if (t->freeleaves == NULL && !slab_new(t)) return NULL;
  leaf = t->freeleaves;
  t->freeleaves = leaf->next;
  return leaf;
}

static void set_last(mp_pages *t, uint64_t page, mp_leaf *leaf)
{
  uint32_t i = page & (MP_PAGES_LAST - 1);
  t->last[i].page = page;
  t->last[i].leaf = leaf;
}

mp_leaf *mp_pages_make(mp_pages *t, uint64_t page)
{
  mp_leafslot *slot = find_slot(t, page);
  mp_leaf *leaf;
  if (slot->leaf == NULL) {
    if (t->npages >= t->mask / 2) {
      if (!set_slots(t, (t->mask + 1) * 2)) return NULL;
      slot = find_slot(t, page);
    }
    if ((leaf = leaf_new(t)) == NULL) return NULL;
    slot->page = page;
    slot->leaf = leaf;
    t->npages++;
  }
  set_last(t, page, slot->leaf);
  return slot->leaf;
}

/* Empties a slot and moves those behind it up, so that no search stops at
** the gap too early. */
static void remove_slot(mp_pages *t, uint32_t i)
{
  uint32_t j = i;
  for (;;) {
    uint32_t h;
    j = (j + 1) & t->mask;
    if (t->slots[j].leaf == NULL) break;
    h = home(t->slots[j].page, t->mask);
    if (((j - h) & t->mask) >= ((j - i) & t->mask)) {
      t->slots[i] = t->slots[j];
      i = j;
    }
  }
  t->slots[i].leaf = NULL;
}

void mp_pages_drop(mp_pages *t, uint64_t page, mp_leaf *leaf)
{
  remove_slot(t, (uint32_t)(find_slot(t, page) - t->slots));
  leaf_free(t, leaf);
  t->npages--;
  set_last(t, page, NULL);
}

mp_leaf *mp_pages_find(mp_pages *t, uint64_t page)
{
  mp_leaf *leaf = find_slot(t, page)->leaf;
  if (leaf != NULL) set_last(t, page, leaf);
  return leaf;
}

uint32_t mp_pages_get(const mp_pages *t, const void *addr)
{
  mp_leaf *leaf = find_slot(t, mp_pages_page(addr))->leaf;
  return leaf != NULL ? *mp_pages_cell(leaf, addr) : 0;
}

size_t mp_pages_memory(const mp_pages *t)
{
  return ((size_t)t->mask + 1) * sizeof(*t->slots) + t->slabbytes;
}

void mp_pages_free(mp_pages *t)
{
  slab *s, *next;
  for (s = t->slabs; s != NULL; s = next) {
    next = s->next;
    mp_free(s);
  }
  mp_free(t->slots);
  memset(t, 0, sizeof(*t));
}
