/* SPDX-License-Identifier: MIT */
/*
** What the lines of a heap walk held: a later walk is compared to that.
**
** A line is known by its path: the labels and types from the VM down to it. Of
** paths that two lines have nothing is known. Memory comes from malloc.
*/
#ifndef MP_BASELINE_H
#define MP_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "heapwalk/holders.h"

typedef struct mp_baseline {
  double at;			/* As in mp_heapwalk; < 0: there is none. */
  double least;			/* Each object with as many bytes had a line. */
  mp_map of;			/* Path -> number + 1, */
  double *bytes;		/* of these; < 0: not known. */
  uint32_t nbytes, capbytes;
} mp_baseline;

void mp_baseline_init(mp_baseline *b);
void mp_baseline_free(mp_baseline *b);

/* Makes these lines the baseline, in place of the last one. Where there is no
** memory, there is none. */
void mp_baseline_take(mp_baseline *b, const mp_holders *s, double at,
		      double least);

/* The path of each line, by its number: so many hashes. */
void mp_baseline_paths(const mp_holders *s, uint64_t *paths);

/* The bytes that the line of that path held; < 0: not known. */
double mp_baseline_bytes(const mp_baseline *b, uint64_t path);

#endif
