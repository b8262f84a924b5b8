/*
** Address -> number of a sampled object. See mp_live.h.
*/
#include "config.h"

#include <string.h>

#include "mp_live.h"
#include "mp_mem.h"

#define SLOTS_MIN	256u	/* A power of two. */
#define SLAB_LEAVES	60	/* Leaves taken from malloc at a time. */

typedef struct slab {
  struct slab *next;
  mp_leaf leaves[SLAB_LEAVES];
} slab;

static uint64_t page_of(const void *addr)
{
  return (uint64_t)(uintptr_t)addr >> MP_LIVE_PAGE;
}

static uint32_t *cell_of(mp_leaf *leaf, const void *addr)
{
  return &leaf->cells[(uintptr_t)addr >> 4 & (MP_LIVE_CELLS - 1)];
}

/* Neighbouring pages share a cache line of the table; groups of them are
** scattered, so that large heaps do not grow into each other. */
static uint32_t home(uint64_t page, uint32_t mask)
{
  uint64_t h = (page >> 3) * UINT64_C(0x9e3779b97f4a7c15);
  return ((uint32_t)(h >> 32) * 8 + (uint32_t)(page & 7)) & mask;
}

/* Slot of a page, or the empty one where it belongs. */
static uint32_t find_slot(const mp_live *l, uint64_t page)
{
  uint32_t i = home(page, l->mask);
  while (l->leaves[i] != NULL && l->pages[i] != page) i = (i + 1) & l->mask;
  return i;
}

static bool set_slots(mp_live *l, uint32_t n)
{
  mp_live old = *l;
  uint32_t i;
  l->pages = mp_malloc(n * sizeof(*l->pages));
  l->leaves = mp_calloc(n, sizeof(*l->leaves));
  if (l->pages == NULL || l->leaves == NULL) {
    mp_free(l->pages);
    mp_free(l->leaves);
    l->pages = old.pages;
    l->leaves = old.leaves;
    return false;
  }
  l->mask = n - 1;
  for (i = 0; old.leaves != NULL && i <= old.mask; i++)
    if (old.leaves[i] != NULL) {
      uint32_t j = find_slot(l, old.pages[i]);
      l->pages[j] = old.pages[i];
      l->leaves[j] = old.leaves[i];
    }
  mp_free(old.pages);
  mp_free(old.leaves);
  return true;
}

bool mp_live_init(mp_live *l, bool dense)
{
  memset(l, 0, sizeof(*l));
  if (dense) memset(l->filter, 255, sizeof(l->filter));
  return set_slots(l, SLOTS_MIN);
}

static mp_leaf *leaf_new(mp_live *l)
{
  mp_leaf *leaf = l->freeleaves;
  if (leaf == NULL) {
    slab *s = mp_calloc(1, sizeof(*s));
    int i;
    if (s == NULL) return NULL;
    s->next = l->slabs;
    l->slabs = s;
    l->nslabs++;
    for (i = 0; i < SLAB_LEAVES; i++) {
      s->leaves[i].next = l->freeleaves;
      l->freeleaves = &s->leaves[i];
    }
    leaf = l->freeleaves;
  }
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
static mp_leaf *leaf_get(mp_live *l, uint64_t page)
{
  mp_leaf *leaf = last_leaf(l, page);
  uint32_t i;
  if (leaf != NULL) return leaf;
  i = find_slot(l, page);
  if (l->leaves[i] == NULL) {
    if (l->npages >= l->mask / 2) {
      if (!set_slots(l, (l->mask + 1) * 2)) return NULL;
      i = find_slot(l, page);
    }
    if ((leaf = leaf_new(l)) == NULL) return NULL;
    l->pages[i] = page;
    l->leaves[i] = leaf;
    l->npages++;
  }
  set_last(l, page, l->leaves[i]);
  return l->leaves[i];
}

/* Empties a slot and moves those behind it up, so that no search stops at
** the gap too early. */
static void remove_slot(mp_live *l, uint32_t i)
{
  uint32_t j = i;
  for (;;) {
    j = (j + 1) & l->mask;
    if (l->leaves[j] == NULL) break;
    if (((j - home(l->pages[j], l->mask)) & l->mask) >= ((j - i) & l->mask)) {
      l->pages[i] = l->pages[j];
      l->leaves[i] = l->leaves[j];
      i = j;
    }
  }
  l->leaves[i] = NULL;
}

static void leaf_drop(mp_live *l, uint64_t page, mp_leaf *leaf)
{
  remove_slot(l, find_slot(l, page));
  leaf->next = l->freeleaves;
  l->freeleaves = leaf;
  l->npages--;
  set_last(l, page, NULL);
}

uint32_t mp_live_put(mp_live *l, const void *addr, uint32_t id)
{
  mp_leaf *leaf = leaf_get(l, page_of(addr));
  uint32_t *cell, old;
  if (leaf == NULL) return MP_LIVE_NOMEM;
  cell = cell_of(leaf, addr);
  old = *cell;
  *cell = id;
  if (old == 0) {
    uint8_t *filter = &l->filter[mp_live_hash(addr)];
    leaf->count++;
    l->count++;
    if (*filter < 255) ++*filter;
  }
  return old;
}

uint32_t mp_live_find(mp_live *l, const void *addr)
{
  uint64_t page = page_of(addr);
  mp_leaf *leaf = last_leaf(l, page);
  uint8_t *filter = &l->filter[mp_live_hash(addr)];
  uint32_t *cell, id;
  if (leaf == NULL) {
    leaf = l->leaves[find_slot(l, page)];
    if (leaf == NULL) return 0;
    set_last(l, page, leaf);
  }
  cell = cell_of(leaf, addr);
  id = *cell;
  if (id == 0) return 0;
  *cell = 0;
  if (*filter < 255) --*filter;
  l->count--;
  if (--leaf->count == 0) leaf_drop(l, page, leaf);
  return id;
}

void mp_live_watch(mp_live *l, const void *addr)
{
  l->filter[mp_live_hash(addr)] = 255;
}

size_t mp_live_memory(const mp_live *l)
{
  size_t slots = (size_t)l->mask + 1;
  return slots * (sizeof(*l->pages) + sizeof(*l->leaves)) +
	 l->nslabs * sizeof(slab);
}

void mp_live_free(mp_live *l)
{
  slab *s, *next;
  for (s = l->slabs; s != NULL; s = next) {
    next = s->next;
    mp_free(s);
  }
  mp_free(l->pages);
  mp_free(l->leaves);
  memset(l, 0, sizeof(*l));
}
