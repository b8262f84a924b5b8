/* SPDX-License-Identifier: MIT */
/*
** The span of time and the process that a profile describes.
**
** All times are in seconds.
*/
#ifndef MP_SPAN_H
#define MP_SPAN_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct mp_span {
  pid_t pid;			/* Process that the profile belongs to. */
  double unix0;			/* Unix time at the start. */
  double wall0;			/* Clock at the start. */
  double wall1;			/* Clock at the end. */
  double cpu1;			/* CPU time at the end. */
  bool ended;			/* wall1 and cpu1 are known. */
} mp_span;

/* The run begins here and now, in this process. */
void mp_span_begin(mp_span *s);

/* The run ends here, if it has not ended yet, after that CPU time: the cost of
** reports is not part of it. */
void mp_span_end(mp_span *s, double cpu);

/* It has not ended after all. */
void mp_span_go_on(mp_span *s);

/* The length of the run, so far or until its end, in seconds. */
double mp_span_wall(const mp_span *s);

#endif
