/* SPDX-License-Identifier: MIT */
/*
** The memory that survived collections. See data/held.h.
*/
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "data/held.h"
#include "data/mem.h"

void mp_held_init(mp_held *h)
{
  memset(h, 0, sizeof(*h));
}

void mp_held_free(mp_held *h)
{
  mp_free(h->entries);
  mp_free(h->sums);
  mp_held_init(h);
}

/* Drops every second record. The last one stays. */
static void thin(mp_held *h)
{
  uint32_t drop = h->nrecords & 1, i, n = 0;
  for (i = 0; i < h->nentries; i++) {
    mp_held_entry e = h->entries[i];
    if ((e.record & 1) == drop) continue;
    e.record /= 2;
    h->entries[n++] = e;
  }
  h->nentries = n;
  for (i = 0, n = 0; i < h->nrecords; i++)
    if ((i & 1) != drop) h->records[n++] = h->records[i];
  h->nrecords = n;
  h->spacing = h->records[n-1].allocated / n;
}

/* Begins a record with all that is in use. */
static void begin(mp_held *h, const mp_held_record *now,
		  const mp_counts *counts)
{
  uint32_t row;
  if (!mp_mem_room(&h->sums, counts->nrows, &h->capsums,
		   sizeof(*h->sums)))
    return;
  for (row = 1; row <= counts->nrows; row++) {
    const mp_row *r = &counts->rows[row];
    h->sums[row] = (mp_held_entry){ 0, row, r->inuse_objects, r->inuse_bytes,
				    r->inuse_variance };
  }
  h->nsums = counts->nrows;
  h->begun = *now;
  h->due = now->allocated + h->spacing;
}

/* Smaller sums are rounding errors. */
static bool is_held(const mp_held_entry *e) { return e->objects > 0.5; }

/* Makes room for n entries of one more record. False: no memory. */
static bool make_room(mp_held *h, uint32_t n)
{
  uint32_t most = n > MP_HELD_ENTRIES / MP_HELD_MIN ? n * MP_HELD_MIN :
		  MP_HELD_ENTRIES;
  while (h->nrecords > 1 &&
	 (h->nrecords == MP_HELD_RECORDS || h->nentries + n > most))
    thin(h);
  return mp_mem_room(&h->entries, h->nentries + n, &h->capentries,
		     sizeof(*h->entries));
}

void mp_held_end(mp_held *h)
{
  uint32_t row, n = 0, end;
  if (h->begun.cycle == 0) return;
  for (row = 1; row <= h->nsums; row++) n += is_held(&h->sums[row]);
  if (make_room(h, n)) {
    end = h->nentries + n;  /* Frees may change the sums meanwhile. */
    for (row = 1; row <= h->nsums && h->nentries < end; row++) {
      if (!is_held(&h->sums[row])) continue;
      h->sums[row].record = h->nrecords;
      h->entries[h->nentries++] = h->sums[row];
    }
    h->records[h->nrecords++] = h->begun;
  }
  h->begun.cycle = 0;
}

void mp_held_flip(mp_held *h, const mp_held_record *now,
		  const mp_counts *counts)
{
  mp_held_end(h);
  if (now->allocated >= h->due) begin(h, now, counts);
}
