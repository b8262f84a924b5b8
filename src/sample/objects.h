/* SPDX-License-Identifier: MIT */
/*
** The sampled objects of a heap, from allocation to free, and their types.
** Private to the heap sampler.
**
** The table of live objects knows an object by an id: the number of its
** sample's record, or, where `rows_only` says that objects have none, its row
** of the counts. Where `tagged` says so, objects have tags instead
** (data/tags.h), with the row and a stamp that tells before which collection
** they were born.
*/
#ifndef MP_OBJECTS_H
#define MP_OBJECTS_H

#include "data/probe.h"
#include "sample/sampler.h"

/* Makes the object at p known by its id. False: it is lost. */
bool mp_objects_replaced(mp_alloc *h, uint32_t old, uint32_t id, size_t size);
static inline bool mp_objects_remember(mp_alloc *h, void *p, uint32_t id,
				       size_t size)
{
  uint32_t old = mp_live_put(&h->live, p, id);
  return old == 0 || mp_objects_replaced(h, old, id, size);
}

/* The same for an object that has no record. */
static inline bool mp_objects_remember_row(mp_alloc *h, void *p, uint32_t row,
					   size_t size)
{
  const mp_tag tag = { row, h->stamp };
  if (!h->tagged) return mp_objects_remember(h, p, row, size);
  return mp_tags_put(&h->tags, p, size, tag) ||
	 mp_objects_replaced(h, MP_LIVE_NOMEM, row, size);
}

/* Counts objects that the first collection after their birth has freed. */
void mp_objects_temporary(mp_alloc *h, uint32_t row, double objects,
			  size_t size);

/* The object with that tag was freed. Returns its row; 0: it has none. Whoever
** puts an allocator over the hook may tell sizes at a free that are wrong. */
static inline uint32_t mp_objects_forget_tag(mp_alloc *h, mp_tag tag,
					     size_t size)
{
  mp_counts *counts = h->capture->counts;
  if (tag.id == 0 || tag.id > counts->nrows) return 0;
  mp_counts_freed(counts, tag.id, 1, size);
  if (h->stamp != 0) {
    uint32_t born = tag.stamp > h->oldest ? tag.stamp : h->oldest;
    if (h->stamp - born <= 1) mp_objects_temporary(h, tag.id, 1, size);
  }
  return tag.id;
}

/* The object at p, which has no record, is being freed. Returns its row; 0: it
** is not known. */
static inline uint32_t mp_objects_forget_row(mp_alloc *h, void *p, size_t size)
{
  uint32_t row;
  if (h->tagged) {
    row = mp_objects_forget_tag(h, mp_tags_take(&h->tags, p, size), size);
  } else {
    row = mp_pages_take(&h->live.pages, p);
    if (row != 0) mp_counts_freed(h->capture->counts, row, 1, size);
  }
  if (row != 0) mp_probe_free(p);
  return row;
}

/* The id of the block of that size, which stays, or its row if it has no
** record; 0: it is not known. */
uint32_t mp_objects_id(const mp_alloc *h, const void *p, size_t size);

/* The object with that id was freed. Returns its row; 0: not known. */
uint32_t mp_objects_forget(mp_alloc *h, uint32_t id, size_t size);

/* The block is about to be freed; it need not have been sampled. Returns the
** row that allocated it, or 0. */
uint32_t mp_objects_freed(mp_alloc *h, void *ptr, size_t osize);

/* The type that an allocation counts as. type: its place's; row: its row, whose
** state tells whether the JIT compiler was at work, or 0. */
static inline uint8_t mp_objects_type(const mp_alloc *h, uint8_t type,
				      uint32_t row)
{
  return row != 0 && h->capture->counts->rows[row].state == 'J' ?
	 mp_type_compiling(type) : type;
}

/* Where events are wanted, counts an allocation by its type. row: the
** allocation's. */
static inline void mp_objects_count_type(mp_alloc *h, const mp_site *site,
					 uint32_t row, size_t size)
{
  mp_typed *t;
  if (!h->wants.events) return;
  t = &h->by_type[mp_objects_type(h, mp_type_of(site), row)];
  t->objects++;
  t->bytes += size;
}

/* Looks at the block whose type is not known yet, if there is one. */
void mp_objects_look_now(mp_alloc *h);
static inline void mp_objects_look(mp_alloc *h)
{
  if (h->types.unknown.block != NULL) mp_objects_look_now(h);
}

/* Looks at that block, which is about to be freed, for the last time. */
void mp_objects_look_last(mp_alloc *h);

/* Asks for the type of a block that was just allocated. One block is looked at
** at a time: a larger one takes the place of another that is still not known,
** as it may be the only one for long that its place allocates. */
static inline void mp_objects_ask_type(mp_alloc *h, mp_site *site, void *p,
				       size_t size, uint32_t id)
{
  const mp_unknown *u = &h->types.unknown;
  if (!mp_type_wanted(site, size)) return;
  if (u->block != NULL && u->size >= size) return;
  mp_type_ask(&h->types, site, p, size, id);
  h->asked = h->last;
  h->born = h->capture->counts->epoch;
}

#endif
