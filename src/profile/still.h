/* SPDX-License-Identifier: MIT */
/*
** A still: copies of the counts of a profile at one moment.
**
** A snapshot that is pushed onto a stack of the profiled VM takes memory from
** it, so that its collector may free objects meanwhile. All numbers of such a
** snapshot come from a still.
**
** A still takes malloc's memory: 128 bytes for each row of the counts, 40 for
** each event, and with option L 16 more for each row. It is taken by the thread
** that runs the VM.
*/
#ifndef MP_STILL_H
#define MP_STILL_H

#include <stdbool.h>
#include <stddef.h>

#include "data/counts.h"
#include "data/events.h"
#include "profile/mark.h"
#include "profile/profile.h"
#include "profile/survivors.h"

typedef struct mp_still {
  mp_counts counts;		/* Has rows, their number, and the epoch. */
  mp_events events;		/* Has the list and its length. */
  mp_sums sums;
  size_t live;			/* Samples in use. */
  size_t peak;			/* Highest total of the Lua heap. */
  mp_survived *survived;	/* By row, with option L; or NULL. */
} mp_still;

/* The part of a profile that a snapshot shows. */
typedef struct mp_scope {
  const mp_mark *from, *to;	/* A window: between these, or from the start */
				/* if `from` is NULL; no window: both NULL. */
  const mp_still *still;	/* The numbers; NULL: those of the profile, */
				/* whose VM does nothing meanwhile. */
} mp_scope;

/* Takes a still of this moment. False: no memory; there is nothing to free. */
bool mp_still_take(mp_still *s, mp_profile *p);
void mp_still_free(mp_still *s);

/* The numbers for a snapshot. */
const mp_counts *mp_scope_counts(const mp_scope *s, const mp_profile *p);
const mp_events *mp_scope_events(const mp_scope *s, const mp_profile *p);
mp_sums mp_scope_sums(const mp_scope *s, mp_profile *p);
size_t mp_scope_live(const mp_scope *s, const mp_profile *p);
size_t mp_scope_peak(const mp_scope *s, const mp_profile *p);

#endif
