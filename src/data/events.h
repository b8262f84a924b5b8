/* SPDX-License-Identifier: MIT */
/*
** Reallocations and frees: the place where they happened, and the place that
** had allocated the memory that they gave back.
**
** A place is a row of the counts (data/counts.h). Row 0 as the origin stands
** for memory that was allocated before the profile began. Where the collector
** frees what a row has allocated, that row knows it: such frees are not here.
*/
#ifndef MP_EVENTS_H
#define MP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/map.h"

typedef enum mp_eventkind { MP_REALLOC, MP_FREE } mp_eventkind;

typedef struct mp_event {
  uint64_t count;		/* Number of events. */
  uint64_t alloc_bytes;		/* Bytes requested. */
  uint64_t free_bytes;		/* Bytes given back. */
  uint32_t at;			/* Row where it happened. */
  uint32_t origin;		/* Row that had allocated these bytes. */
  mp_eventkind kind;
} mp_event;

typedef struct mp_events {
  mp_event *list;		/* In order of first occurrence. */
  uint32_t count, cap;
  size_t limit;			/* Bytes at most; 0: any number. */
  mp_map map;			/* Hash of kind and rows -> index + 1. */
  uint32_t *last;		/* By origin and kind: index + 1 of the */
  uint32_t caplast;		/* event that was found last, or 0. */
} mp_events;

/* Makes an empty table. Takes no memory yet. */
void mp_events_init(mp_events *e);

/* Counts one event. False: no memory. */
bool mp_events_add(mp_events *e, mp_eventkind kind, uint32_t at,
		   uint32_t origin, size_t alloc, size_t freed);

/* Moves a reallocation that was counted in one row to another one. */
bool mp_events_move(mp_events *e, uint32_t from, uint32_t to, uint32_t origin,
		    size_t alloc, size_t freed);

/* Moves the reallocations of which the place was not known, counted in row 0,
** to a row. False: no memory for all of them. */
bool mp_events_settle(mp_events *e, uint32_t row);

/* Gives all memory back; the table is empty and usable again, up to the same
** limit. */
void mp_events_free(mp_events *e);

#endif
