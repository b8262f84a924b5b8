/* SPDX-License-Identifier: MIT */
/*
** A mark: the counts of a profile at one moment. A window has the counts
** between two marks.
**
** A mark takes malloc's memory: 64 bytes for each row of the counts, and 40
** for each event where these are recorded. It is taken by the thread that
** runs the VM, or by the one that ends the process, under the lock.
*/
#ifndef MP_MARK_H
#define MP_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* The numbers of the whole profile that only grow. */
typedef struct mp_sums {
  double wall, cpu;		/* Seconds since the start. */
  double ticks;			/* CPU samples. */
  double allocs, bytes, frees, freed;
  double reallocs, realloc_bytes, realloc_freed;
  double taken, dropped;	/* Allocation samples; samples lost. */
  double cut;			/* Stacks that were cut. */
  double cycles;		/* Collections, */
  double looks, stopped;	/* and looks at the collector. */
  double type_objects[MP_NTYPES];  /* Allocations by type, where events are */
  double type_bytes[MP_NTYPES];	/* recorded. */
} mp_sums;

/* The numbers of a row that only grow. */
typedef struct mp_marked {
  double cpu, alloc_objects, alloc_bytes, alloc_variance;
  double temp_objects, temp_bytes, calls, gone_objects, gone_bytes;
} mp_marked;

typedef struct mp_mark {
  mp_sums sums;
  mp_marked *rows;		/* By row id; [0] is unused. */
  mp_event *events;
  uint32_t nrows, nevents;
  double wall0;			/* The start of the profile. */
} mp_mark;

/* The sums so far. */
mp_sums mp_sums_now(mp_profile *p);

/* Turns a mark of zeros into a mark of this moment. False: no memory; the mark
** then has nothing to free. */
bool mp_mark_take(mp_mark *m, mp_profile *p);

/* Gives the memory back: the mark is the start of the profile again. */
void mp_mark_free(mp_mark *m);

/* The mark, or NULL, which stands for the start, if the mark belongs to another
** profile or, after a fork, to the parent's. */
const mp_mark *mp_mark_of(const mp_mark *m, const mp_profile *p);

/* The sums between two marks. */
mp_sums mp_mark_sums(const mp_mark *from, const mp_mark *to);

/* Reduces the row, or the event, with that number to the amounts counted
** between two marks; its amounts in use stay. */
void mp_mark_row(const mp_mark *from, const mp_mark *to, uint32_t i, mp_row *r);
void mp_mark_event(const mp_mark *from, const mp_mark *to, uint32_t i,
		   mp_event *e);

#endif
