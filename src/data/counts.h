/* SPDX-License-Identifier: MIT */
/*
** The counts: one row for each (stack, VM state, zone, type of object), and
** where that is asked for each trace.
**
** CPU is in samples, or in milliseconds if their interval adapts. Objects and
** bytes are estimates of the true numbers, summed sample by sample, each with
** the weight of its own draw (data/period.h); if every allocation is sampled
** they are exact (doubles hold integers to 2^53). "In use" is what was
** allocated and has not been freed yet.
**
** The peak of a row is the amount that it had in use when the whole heap was
** largest. A growing heap reaches a new maximum thousands of times, so rows are
** not copied then: each maximum only begins a new epoch, and the first change
** of a row in an epoch saves the amounts from before the change.
*/
#ifndef MP_COUNTS_H
#define MP_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/map.h"

/* The id of a row has this many bits, not all of them set: other numbers are
** kept above it. */
#define MP_COUNTS_BITS	24
#define MP_COUNTS_MAX	((UINT32_C(1) << MP_COUNTS_BITS) - 1)

typedef struct mp_row {
  double alloc_objects;		/* Objects allocated, ever. */
  double alloc_bytes;		/* Bytes allocated, ever. */
  double inuse_objects;		/* Objects allocated and not freed. */
  double inuse_bytes;		/* Bytes allocated and not freed. */
  uint32_t epoch;		/* See peak_objects. */
  uint32_t stack;		/* Stack id. */
  uint32_t zone;		/* Zone stack id; 0: no zone. */
  uint8_t state;		/* VM state: one of "NICGJ". */
  uint8_t type;			/* Of the objects (vm/type.h); 0: not known. */
  uint16_t trace;		/* The number of the trace that ran; or 0. */
  uint32_t part;		/* The row of a part of these objects, or 0. */
  double cpu;			/* Weights of CPU samples (data/pace.h). */
  double cpu_squares;		/* Sum of the squares of these weights. */
  double peak_objects;		/* Objects in use when `epoch` began, if that */
				/* is the epoch now. */
  double peak_bytes;		/* Bytes in use at the same time. */
  double alloc_variance;	/* Variance of alloc_bytes by sampling. */
  double inuse_variance;	/* Variance of inuse_bytes by sampling. */
  double temp_objects;		/* Freed by the collection that came next. */
  double temp_bytes;
  double calls;			/* Of the function on top of the stack. */
  double waited;		/* Seconds that coroutines have waited, */
  double waited_variance;	/* with their variance, by sampling; */
  double waiting;		/* and how many wait now. */
  double blocked;		/* Seconds that the thread of the VM slept, */
  double blocked_variance;	/* with their variance. */
  double start_objects;		/* In use when counting started again: at a */
  double start_bytes;		/* fork, or where a window begins; less what */
				/* mp_counts_lost has taken. */
} mp_row;

typedef struct mp_counts {
  mp_row *rows;			/* Row id -> row; [0] is unused. Moves. */
  uint32_t nrows;		/* Highest row id. */
  uint32_t caprows;		/* Allocated elements. */
  uint32_t epoch;		/* Peaks of the heap so far. */
  bool closed;			/* No new rows are made any more. */
  mp_map map;			/* Hash of what makes a row -> row id. */
} mp_counts;

/* Makes an empty table. Takes no memory yet. */
void mp_counts_init(mp_counts *c);

/* Id (from 1) of the row for these keys, made if new. 0: no memory, or the
** table is closed. */
uint32_t mp_counts_traced(mp_counts *c, uint32_t stack, uint32_t zone,
			  uint8_t state, uint8_t type, uint16_t trace);
static inline uint32_t mp_counts_row(mp_counts *c, uint32_t stack,
				     uint32_t zone, uint8_t state, uint8_t type)
{
  return mp_counts_traced(c, stack, zone, state, type, 0);
}

/* Bytes that the table will have taken once it has that many more rows. */
size_t mp_counts_after(const mp_counts *c, uint32_t more);

/* The row, about to be changed: saves its peak if this is a new epoch. */
static inline mp_row *mp_counts_touch(mp_counts *c, uint32_t row)
{
  mp_row *r = &c->rows[row];
  if (r->epoch != c->epoch) {
    r->epoch = c->epoch;
    r->peak_objects = r->inuse_objects;
    r->peak_bytes = r->inuse_bytes;
  }
  return r;
}

/* The variance that a sampled object adds to a sum of bytes, if it stands for
** `objects` of them. It was sampled with probability p = 1/objects, and
** (1-p)/p^2 is an unbiased estimate of its contribution. */
static inline double mp_counts_variance(double objects, double bytes)
{
  return objects * (objects - 1) * bytes * bytes;
}

/* Counts the given number of objects of that size as allocated, or freed. */
static inline void mp_counts_alloc(mp_counts *c, uint32_t row, double objects,
				   size_t size)
{
  mp_row *r = mp_counts_touch(c, row);
  double bytes = (double)(int64_t)size;
  r->alloc_objects += objects;
  r->alloc_bytes += objects * bytes;
  r->inuse_objects += objects;
  r->inuse_bytes += objects * bytes;
  if (objects != 1) {
    double variance = mp_counts_variance(objects, bytes);
    r->alloc_variance += variance;
    r->inuse_variance += variance;
  }
}

static inline void mp_counts_freed(mp_counts *c, uint32_t row, double objects,
				   size_t size)
{
  mp_row *r = mp_counts_touch(c, row);
  double bytes = (double)(int64_t)size;
  r->inuse_objects -= objects;
  r->inuse_bytes -= objects * bytes;
  if (objects != 1) r->inuse_variance -= mp_counts_variance(objects, bytes);
}

static inline void mp_counts_cpu(mp_counts *c, uint32_t row, double weight,
				 double squares)
{
  c->rows[row].cpu += weight;
  c->rows[row].cpu_squares += squares;
}

/* The objects of a row, and their bytes, that were freed since then. */
static inline double mp_counts_gone_objects(const mp_row *r)
{
  return r->start_objects + r->alloc_objects - r->inuse_objects;
}

static inline double mp_counts_gone_bytes(const mp_row *r)
{
  return r->start_bytes + r->alloc_bytes - r->inuse_bytes;
}

/* An object of the row, which counts as freed, was not freed as far as is
** known: it is as if it had never been there. */
static inline void mp_counts_lost(mp_counts *c, uint32_t row, size_t size)
{
  c->rows[row].start_objects--;
  c->rows[row].start_bytes -= (double)(int64_t)size;
}

/* Moves an allocation that was counted in one row, and is in use, to another
** one. born: the epoch in which it was made. */
void mp_counts_move(mp_counts *c, uint32_t from, uint32_t to, double objects,
		    size_t size, uint32_t born);

/* The heap has reached a new maximum: every row's peak is its current value. */
static inline void mp_counts_peak(mp_counts *c) { c->epoch++; }

double mp_counts_peak_objects(const mp_counts *c, uint32_t row);
double mp_counts_peak_bytes(const mp_counts *c, uint32_t row);

/* Forgets all but what is in use. For the child of a fork, whose profile begins
** there. */
void mp_counts_restart(mp_counts *c);

/* Gives all memory back. */
void mp_counts_free(mp_counts *c);

#endif
