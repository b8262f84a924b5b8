/* SPDX-License-Identifier: MIT */
/*
** A moment: the counts of a profile at one time.
**
** A window shows the difference of two moments. A snapshot that is pushed onto
** a stack of the profiled VM shows one: it takes memory from the VM, whose
** collector may free objects meanwhile.
**
** A moment takes malloc's memory: 160 bytes for each row of the counts, 40 for
** each event where these are recorded, and with option L 16 more for each row
** if the VM is at rest.
*/
#ifndef MP_MOMENT_H
#define MP_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/counts.h"
#include "data/events.h"
#include "profile/profile.h"
#include "profile/survivors.h"

/* The numbers of the whole profile that only grow. */
typedef struct mp_sums {
  double wall, cpu;		/* Seconds since the start. */
  double ticks;			/* CPU samples. */
  double allocs, bytes, frees, freed;
  double reallocs, realloc_bytes, realloc_freed;
  double taken, dropped;	/* Allocation samples; samples lost. */
  double cut;			/* Stacks that were cut. */
  double cycles;		/* Collections. */
  double looks, stopped;	/* Looks at the collector; those of them that */
				/* found it stopped. */
  double watched;		/* Seconds of looks at waiting coroutines. */
  double type_objects[MP_NTYPES];  /* Allocations by type, where events are */
  double type_bytes[MP_NTYPES];	/* recorded. */
} mp_sums;

typedef struct mp_moment {
  mp_counts counts;		/* Has rows, their number, and the epoch. */
  mp_events events;		/* Has the list and its length. */
  mp_sums sums;
  size_t inuse;			/* The Lua heap, */
  size_t live;			/* and samples of it in use. */
  size_t peak;			/* Highest total of the Lua heap. */
  mp_survived *survived;	/* By row; or NULL: they were not counted. */
  double wall0;			/* The start of the profile. */
} mp_moment;

/* The part of a profile that a snapshot shows. */
typedef struct mp_scope {
  const mp_moment *from;	/* Beginning of a window; NULL: the start. */
  const mp_moment *to;		/* The numbers; NULL: those of the profile, */
				/* whose VM does nothing meanwhile. */
  bool window;			/* Only what was counted between the two. */
  const struct mp_heapwalk *walk;  /* NULL: the profile's, if there is one. */
  const mp_trigger *event;	/* What it was made at; or NULL. */
  const struct mp_baseline *base;  /* The walk is compared to it; or NULL. */
} mp_scope;

/* Makes zeros this moment: in the thread that runs the VM, or the one that ends
** the process, under the lock. False: no memory; there is nothing to free. */
bool mp_moment_take(mp_moment *m, mp_profile *p);

/* The same in the thread that runs the VM, which is at rest and may be looked
** at: the heap has its present peak, and survivors are counted. */
bool mp_moment_take_at_rest(mp_moment *m, mp_profile *p);

/* Gives the memory back: the moment is the start of the profile again. */
void mp_moment_free(mp_moment *m);

/* The moment, or NULL, which stands for the start, if it belongs to another
** profile or, after a fork, to the parent's. */
const mp_moment *mp_moment_of(const mp_moment *m, const mp_profile *p);

/* -- The numbers for a snapshot ------------------------------------------- */

const mp_counts *mp_scope_counts(const mp_scope *s, const mp_profile *p);
const mp_events *mp_scope_events(const mp_scope *s, const mp_profile *p);
mp_sums mp_scope_sums(const mp_scope *s, mp_profile *p);
size_t mp_scope_inuse(const mp_scope *s, mp_profile *p);
size_t mp_scope_live(const mp_scope *s, const mp_profile *p);
size_t mp_scope_peak(const mp_scope *s, const mp_profile *p);

/* Reduces the row, or the event, with that number to the amounts that were
** counted in the window; its amounts in use stay. */
void mp_scope_reduce_row(const mp_scope *s, uint32_t i, mp_row *r);
void mp_scope_reduce_event(const mp_scope *s, uint32_t i, mp_event *e);

#endif
