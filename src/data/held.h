/* SPDX-License-Identifier: MIT */
/*
** The memory that survived collections, by row: the evidence of a leak.
**
** A record states how much of each row a collection left alive. It begins when
** the collector has marked the live objects and turns to its sweep: it starts
** with everything in use, and each object that the sweep frees is subtracted.
** Garbage made since then is not part of it, so that records can be compared.
** A block that the program itself frees meanwhile, because it grew into another
** one, was alive and stays in the record.
**
** There are at most MP_HELD_RECORDS records. When the room is used up, every
** second record is dropped, and collections closer than the remaining ones get
** no record, so that records are spread over all that the program allocates.
** The clock is the number of allocated bytes, so that the same collections are
** recorded on a machine that is busy with other work.
**
** All memory comes from malloc. Without memory a record is left out.
*/
#ifndef MP_HELD_H
#define MP_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "data/counts.h"

#define MP_HELD_RECORDS	64	/* Records, at most; even. */
#define MP_HELD_ENTRIES	(1u << 18)	/* Entries of all records, at most, */
#define MP_HELD_MIN	8	/* unless so few records need more. */

/* One row's survivors in one record. */
typedef struct mp_held_entry {
  uint32_t record;		/* Index of the record. */
  uint32_t row;			/* Row id of data/counts.h. */
  double objects, bytes;	/* Estimates of the true numbers. */
  double variance;		/* Of `bytes`, by sampling: bytes squared. */
} mp_held_entry;

typedef struct mp_held_record {
  double wall;			/* Seconds from the start to the collection. */
  double allocated;		/* Bytes allocated until the collection. */
  uint64_t cycle;		/* Number of the collection, from 1. */
} mp_held_record;

typedef struct mp_held {
  mp_held_record records[MP_HELD_RECORDS];
  uint32_t nrecords;
  mp_held_entry *entries;	/* By record, then by row. */
  uint32_t nentries, capentries;
  mp_held_entry *sums;		/* By row id: the record under way. */
  uint32_t nsums, capsums;	/* Highest row id in `sums`; its capacity. */
  mp_held_record begun;		/* The record under way; cycle 0: none. */
  double spacing, due;		/* Bytes allocated from one record to the */
				/* next, and until the next one. */
} mp_held;

/* Makes an empty history. Takes no memory yet. */
void mp_held_init(mp_held *h);

/* A collection, which `now` describes, begins its sweep: ends the record under
** way, whose sweep is over, and begins one for this collection if one is due,
** with the rows as they are. */
void mp_held_flip(mp_held *h, const mp_held_record *now,
		  const mp_counts *counts);

/* The sweep frees objects that were alive when it began. A no-op where no
** record is under way. */
static inline void mp_held_swept(mp_held *h, uint32_t row, double objects,
				 size_t size)
{
  mp_held_entry *e = &h->sums[row];
  double bytes = (double)(int64_t)size;
  if (h->begun.cycle == 0 || row > h->nsums) return;
  e->objects -= objects;
  e->bytes -= objects * bytes;
  e->variance -= mp_counts_variance(objects, bytes);
}

/* The sweep of the record under way is over: keeps it. Under the lock, as is
** mp_held_flip: another thread may be reading the records. */
void mp_held_end(mp_held *h);

/* Drops the record under way: the end of its sweep will not be seen. */
static inline void mp_held_drop(mp_held *h) { h->begun.cycle = 0; }

/* Gives all memory back; the history is empty and usable again. */
void mp_held_free(mp_held *h);

#endif
