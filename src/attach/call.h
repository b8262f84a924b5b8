/* SPDX-License-Identifier: MIT */
/*
** Calls that a stopped thread is made to do.
**
** A call is made with signals held back. Its stack has a signal frame, by which
** the thread gets its registers and its mask of signals back when the function
** returns: it is well whenever we are killed. As long as we exist the thread is
** stopped before that, and continues even in a system call that was
** interrupted.
*/
#ifndef MP_CALL_H
#define MP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/tracee.h"

/* The way calls are made. */
typedef struct mp_place {
  uint64_t returns;		/* Code that signal handlers return to. */
  uint64_t stack;		/* Its end; 0: below the thread's own. */
  const volatile int *end;	/* The user wants no longer to wait. */
  bool slow;			/* It was said that a call takes long. */
} mp_place;

typedef enum mp_called {
  MP_CALL_DONE,
  MP_CALL_LEFT,			/* It goes on without us. */
  MP_CALL_FAILED
} mp_called;

/* Calls a function, and waits until it has returned: a call is never broken
** off. *result: what its last system call returned. */
mp_called mp_call(mp_tracee *t, mp_place *p, uint64_t function,
		  const uint64_t args[6], int64_t *result);

/* The result of the last function, if it returned to MP_CALL_CODE
** (attach/frame.h). */
bool mp_call_result(const mp_tracee *t, uint64_t *result);

#endif
