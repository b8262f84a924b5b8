/*
** The span of time and the process that a profile is about.
**
** All times are in seconds. The CPU time is that of the process.
*/
#ifndef MP_SPAN_H
#define MP_SPAN_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct mp_span {
  pid_t pid;			/* Process that the profile belongs to. */
  double unix0;			/* Unix time at the start. */
  double cpu0, wall0;		/* Clocks at the start, */
  double cpu1, wall1;		/* and at the end, */
  bool ended;			/* if that has come. */
} mp_span;

/* The run begins here and now, in this process. */
void mp_span_begin(mp_span *s);

/* It ends here, if it has not: what reports cost later is not part of it. */
void mp_span_end(mp_span *s);

/* How long it was, or is so far. */
double mp_span_wall(const mp_span *s);

/* The CPU clock at its end, or now. */
double mp_span_cpu_clock(const mp_span *s);

#endif
