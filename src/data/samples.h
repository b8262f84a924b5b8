/* SPDX-License-Identifier: MIT */
/*
** Records of the sampled objects that are alive, by number.
**
** Numbers count from 1; the record of a freed object is used again. A record
** whose stack is not known yet is in the list of records that wait for a
** safepoint.
*/
#ifndef MP_SAMPLES_H
#define MP_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mp_sample {
  double objects;		/* How many objects it stands for. */
  size_t size;			/* Bytes of the object; 0: free record. */
  uint64_t birth:62;		/* Milliseconds since the start. */
  uint64_t waiting:1;		/* For a safepoint: its stack is not known. */
  uint64_t freed:1;		/* Freed while it waited. */
  union {
    uint32_t row;		/* Row that it counts in. */
    uint32_t next;		/* Next free record, or next one waiting. */
  };
  uint32_t cycle;		/* Collections begun before, modulo 2^32. */
} mp_sample;

/* `row` of a sample for whose row there was no memory. */
#define MP_ROW_LOST UINT32_MAX

typedef struct mp_samples {
  mp_sample *list;		/* [0] is unused. Moves. */
  uint32_t count;		/* Records ever used. */
  uint32_t cap;			/* Records allocated. */
  uint32_t unused;		/* First free record, or 0. */
  uint32_t waiting;		/* First one that waits, or 0. */
} mp_samples;

/* Number of a record that the caller fills in; 0: no memory. */
uint32_t mp_samples_new(mp_samples *s);

/* The record may be used again. */
void mp_samples_release(mp_samples *s, uint32_t id);

/* Gives all memory back. */
void mp_samples_free(mp_samples *s);

#endif
