/* SPDX-License-Identifier: MIT */
/*
** The timeline of a run: the size of the heap, and the amounts that each row
** counted, over time.
**
** A point is taken every few milliseconds, and more often at first, so that a
** short run has enough of them to tell whether it grows. When there are
** MP_COURSE_MAX of them, every second one is dropped and the spacing doubles,
** so that a long run has between half that number and all of it. Each point has
** a list of changes, the amounts that rows counted since the point before.
** Where so many rows change that the list would be too long, several points
** have one together, the last of them: `grain` points, counted from the first.
** A list costs a look at each row; so that this takes little of the time, a
** point soon after the last list has none if there are many rows: from 2,000
** on.
*/
#ifndef MP_COURSE_H
#define MP_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/counts.h"

#define MP_COURSE_MAX		1024	/* Points, at most; even. */
#define MP_COURSE_CHANGES	32768u	/* Changes, at most, */
#define MP_COURSE_MIN		16	/* unless so few lists need more. */
#define MP_COURSE_SPACING	0.01	/* Seconds between points; at first */
#define MP_COURSE_PART	64	/* one in so many of the run, */
#define MP_COURSE_LEAST	0.001	/* but not less than that. */
#define MP_COURSE_ROW	5e-6	/* Seconds between lists, for each row. */

typedef struct mp_point {
  double wall, cpu;		/* Seconds since the start. */
  uint64_t allocated;		/* Bytes, since the start. */
  uint64_t cycles;		/* Collections begun, since the start. */
  size_t inuse;			/* Bytes in the Lua heap. */
  size_t rss;			/* Bytes in memory; 0: unknown. */
  char phase;			/* Of the collector: one of "pmsf" or '?'. */
} mp_point;

/* The amounts that a row counted between two points. */
typedef struct mp_change {
  uint32_t point, row;
  double cpu, alloc_objects, alloc_bytes;
  double inuse_bytes;		/* At the point. */
} mp_change;

/* The amounts of a row at the last point. */
typedef struct mp_before {
  double cpu, alloc_objects, alloc_bytes, inuse_bytes;
  uint32_t last;		/* Index of its latest change, plus one. */
} mp_before;

typedef struct mp_course {
  mp_point *points;		/* MP_COURSE_MAX of them, or NULL. */
  uint32_t npoints;
  double spacing;		/* Seconds between points, at most. */
  double due;			/* Time of the next point. */
  double listdue;		/* Time of the next list of changes. */
  uint32_t grain;		/* Points that share a list of changes. */
  mp_change *changes;		/* By point. */
  uint32_t nchanges, capchanges;
  mp_before *before;		/* By row id. */
  uint32_t capbefore;
} mp_course;

/* Makes an empty course. Takes no memory yet. */
void mp_course_init(mp_course *c);

/* Whether a point is due at that time. */
static inline bool mp_course_due(const mp_course *c, double wall)
{
  return wall >= c->due;
}

/* The next point has a list of changes, whatever that costs. */
static inline void mp_course_demand(mp_course *c) { c->listdue = 0; }

/* Adds a point, and the amounts that rows counted since the last list, if the
** next one is due. Without memory nothing happens, and the next point includes
** these amounts. */
void mp_course_add(mp_course *c, const mp_point *p, const mp_counts *counts);

/* Gives all memory back; the course is empty and usable again. */
void mp_course_free(mp_course *c);

#endif
