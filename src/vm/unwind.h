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
#include <unwind.h>

/* Calls step for each frame, from the caller's on, until it returns a value
** other than _URC_NO_REASON. False: nothing was unwound. From any thread, but
** not in a signal handler; step must neither fork nor unwind. */
bool mp_unwind(_Unwind_Trace_Fn step, void *data);

/* The start of the function that a call returns to. NULL: not known. From any
** thread, but not in a signal handler. */
const void *mp_unwind_function(const void *ip);

/* Around a fork, as pthread_atfork calls its functions. */
void mp_unwind_before_fork(void);
void mp_unwind_in_parent(void);
void mp_unwind_in_child(void);

#endif
