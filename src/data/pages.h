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

/* Remembers an id for the object at addr. Returns 0, or the id that was there,
** or MP_PAGES_NOMEM. */
#define MP_PAGES_NOMEM UINT32_MAX
uint32_t mp_pages_put(mp_pages *t, const void *addr, uint32_t id);

/* The id of the object at addr, or 0. mp_pages_take forgets it. */
uint32_t mp_pages_get(const mp_pages *t, const void *addr);
uint32_t mp_pages_take(mp_pages *t, const void *addr);

/* Calls f for all objects, in no order, with the address, less its lowest four
** bits, and the id. */
typedef void mp_pages_see(void *data, const void *addr, uint32_t id);
void mp_pages_each(const mp_pages *t, mp_pages_see *f, void *data);

/* Bytes of memory in use, without the table itself. */
size_t mp_pages_memory(const mp_pages *t);

/* Gives all memory back. */
void mp_pages_free(mp_pages *t);

#endif
