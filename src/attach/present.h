/* SPDX-License-Identifier: MIT */
/*
** The pages of another process that are in memory: to read others would bring
** them there, or make page tables for them.
*/
#ifndef MP_PRESENT_H
#define MP_PRESENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum mp_where {
  MP_IN_MEMORY,
  MP_SWAPPED
} mp_where;

typedef struct mp_present {
  int fd;			/* The map, or -1: all count as present. */
  bool scans;			/* The kernel finds them. */
  mp_where where;
} mp_present;

void mp_present_open(mp_present *p, pid_t pid, mp_where where);
void mp_present_close(mp_present *p);

/* Finds the next such pages between two addresses: they begin at *from, and end
** at the result; 0: there are none. May end early, with a result that is *from,
** so that the caller can look about. */
uint64_t mp_present_next(mp_present *p, uint64_t *from, uint64_t to);

#endif
