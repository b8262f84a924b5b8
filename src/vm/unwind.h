/* SPDX-License-Identifier: MIT */
/*
** Unwinding of the C stack. libgcc takes a lock for it, which a fork does not
** renew: a child would wait forever for a thread that does not exist there. So
** no thread unwinds here while another one forks. The child of a process that
** had other threads does not unwind any more, since any of them may have had
** the lock for an exception of its own.
*/
#ifndef MP_UNWIND_H
#define MP_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

/* Calls step for each frame, from the caller's on, until it returns a value
** other than _URC_NO_REASON. False: nothing was unwound. From any thread, but
** not in a signal handler; step must neither fork nor unwind. */
bool mp_unwind(_Unwind_Trace_Fn step, void *data);

/* Frames of C functions that the unwinder has shown, by the addresses in them
** that calls return to. All of them have a fixed size. */
#define MP_CFRAMES	256	/* A power of two. */

typedef struct mp_cframes {
  struct mp_cframe {
    uint64_t ip;		/* 0: empty. */
    uint32_t size, ret;		/* Bytes; where the return address is in it. */
  } known[MP_CFRAMES];
  uint32_t count;
  uint32_t tries;		/* For the user. */
} mp_cframes;

/* A place on the way up. */
typedef struct mp_step {
  uint64_t ip;			/* An address in a function. */
  const char *sp;		/* The function's stack pointer. */
  const uintptr_t *ret;		/* Where the address was found, or NULL. */
} mp_step;

/* Goes up to the first function whose frame is not known, or does not lie below
** that end. */
void mp_cframes_climb(const mp_cframes *f, mp_step *at, const char *end);

/* Two steps that follow each other: notes the frame of the first. */
void mp_cframes_note(mp_cframes *f, const mp_step *at, const mp_step *next);

/* The start of the function that a call returns to. NULL: not known. From any
** thread, but not in a signal handler. */
const void *mp_unwind_function(const void *ip);

/* Around a fork, as pthread_atfork calls its functions. */
void mp_unwind_before_fork(void);
void mp_unwind_in_parent(void);
void mp_unwind_in_child(void);

#endif
