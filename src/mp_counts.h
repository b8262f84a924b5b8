/*
** The counts: one row for each (stack, VM state, zone).
**
** CPU is in samples. Objects and bytes are estimates of the true numbers,
** summed sample by sample, each with the weight of its own draw (mp_period.h);
** where every allocation is sampled they are exact (doubles hold integers to
** 2^53). "In use" is what was allocated and has not been freed yet.
*/
#ifndef MP_COUNTS_H
#define MP_COUNTS_H

#include <stdint.h>

#include "mp_map.h"

typedef struct mp_row {
  double cpu;			/* CPU samples. */
  double alloc_objects;		/* Objects allocated, ever. */
  double alloc_bytes;		/* Bytes allocated, ever. */
  double inuse_objects;		/* Objects allocated and not freed. */
  double inuse_bytes;		/* Bytes allocated and not freed. */
  uint32_t stack;		/* Stack id. */
  uint32_t zone;		/* Zone stack id; 0: no zone. */
  uint8_t state;		/* VM state: one of "NICGJ". */
} mp_row;

typedef struct mp_counts {
  mp_row *rows;			/* Row id -> row; [0] is unused. Moves. */
  uint32_t nrows;		/* Highest row id. */
  uint32_t caprows;		/* Allocated elements. */
  mp_map map;			/* Hash of (stack, zone, state) -> row id. */
} mp_counts;

/* Makes an empty table. Takes no memory yet. */
void mp_counts_init(mp_counts *c);

/* Id (from 1) of the row for these keys, made if new. 0: no memory. */
uint32_t mp_counts_row(mp_counts *c, uint32_t stack, uint32_t zone,
		       uint8_t state);

/* Forgets CPU and what was freed: what is in use counts as just allocated.
** For the child of a fork, whose profile begins there. */
void mp_counts_restart(mp_counts *c);

/* Gives all memory back. */
void mp_counts_free(mp_counts *c);

#endif
