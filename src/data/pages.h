/* SPDX-License-Identifier: MIT */
/*
** Address -> id (not 0), where most objects of a heap have one.
**
** The cells lie as close together as the objects do: a hash table leads from
** the number of a page to a leaf of cells, one for every 16 bytes of the page.
** A leaf is freed when its last cell becomes empty.
*/
#ifndef MP_PAGES_H
#define MP_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_PAGES_LAST	64	/* A power of two. */

typedef struct mp_leaf {
  struct mp_leaf *next;		/* Next free leaf. */
  uint32_t count;		/* Cells in use. */
  uint32_t cells[];		/* Ids, 0: empty. */
} mp_leaf;

typedef struct mp_leafslot {
  uint64_t page;		/* Number of a page, */
  mp_leaf *leaf;		/* and its leaf; NULL: empty slot. */
} mp_leafslot;

typedef struct mp_pages {
  mp_leafslot last[MP_PAGES_LAST];  /* Pages looked for last, by number. */
  mp_leafslot *slots;		/* The hash table. */
  uint32_t mask;		/* Slots - 1. */
  uint32_t npages;		/* Slots in use. */
  size_t count;			/* Ids. */
  mp_leaf *freeleaves;		/* All their cells are 0. */
  void *slabs;			/* Memory that leaves come from. */
  size_t nslabs, slabbytes;
} mp_pages;

/* Makes an empty table out of zeros; takes little memory. False: none. */
bool mp_pages_init(mp_pages *t);

/* The leaf of a page: made if there is none (NULL: no memory), or NULL. */
mp_leaf *mp_pages_make(mp_pages *t, uint64_t page);
mp_leaf *mp_pages_find(mp_pages *t, uint64_t page);

/* Gives back a leaf whose cells are all empty. */
void mp_pages_drop(mp_pages *t, uint64_t page, mp_leaf *leaf);

#define MP_PAGE_BITS	12	/* Of an address within its page. */

static inline uint64_t mp_pages_page(const void *addr)
{
  return (uint64_t)(uintptr_t)addr >> MP_PAGE_BITS;
}

static inline uint32_t *mp_pages_cell(mp_leaf *leaf, const void *addr)
{
  uintptr_t mask = ((uintptr_t)1 << MP_PAGE_BITS) - 1;
  return &leaf->cells[((uintptr_t)addr & mask) >> 4];
}

/* The leaf of a page that was looked for not long ago, or NULL. */
static inline mp_leaf *mp_pages_last(const mp_pages *t, uint64_t page)
{
  const mp_leafslot *s = &t->last[page & (MP_PAGES_LAST - 1)];
  return s->page == page ? s->leaf : NULL;
}

/* Remembers an id for the object at addr. Returns 0, or the id that was there,
** or MP_PAGES_NOMEM. */
#define MP_PAGES_NOMEM UINT32_MAX
static inline uint32_t mp_pages_put(mp_pages *t, const void *addr, uint32_t id)
{
  uint64_t page = mp_pages_page(addr);
  mp_leaf *leaf = mp_pages_last(t, page);
  uint32_t *cell, old;
  if (leaf == NULL && (leaf = mp_pages_make(t, page)) == NULL)
    return MP_PAGES_NOMEM;
  cell = mp_pages_cell(leaf, addr);
  old = *cell;
  *cell = id;
  if (old != 0) return old;
  leaf->count++;
  t->count++;
  return 0;
}

/* The id of the object at addr, or 0. mp_pages_take forgets it. */
uint32_t mp_pages_get(const mp_pages *t, const void *addr);
static inline uint32_t mp_pages_take(mp_pages *t, const void *addr)
{
  uint64_t page = mp_pages_page(addr);
  mp_leaf *leaf = mp_pages_last(t, page);
  uint32_t *cell, id;
  if (leaf == NULL && (leaf = mp_pages_find(t, page)) == NULL) return 0;
  cell = mp_pages_cell(leaf, addr);
  id = *cell;
  if (id == 0) return 0;
  *cell = 0;
  t->count--;
  if (--leaf->count == 0) mp_pages_drop(t, page, leaf);
  return id;
}

/* Calls f for all objects, in no order, with the address, less its lowest four
** bits, and the id. */
typedef void mp_pages_see(void *data, const void *addr, uint32_t id);
void mp_pages_each(const mp_pages *t, mp_pages_see *f, void *data);

/* Bytes of memory in use, without the table itself. */
size_t mp_pages_memory(const mp_pages *t);

/* Gives all memory back. */
void mp_pages_free(mp_pages *t);

#endif
