/* SPDX-License-Identifier: MIT */
/*
** Unwinding of the C stack. libgcc takes a lock for it, which a fork does not
** renew: a child would wait for ever for a thread that is not there. So no
** thread unwinds here while another one forks, and the child of a process that
** had other threads, any of which may have had the lock for an error of its
** own, unwinds no more.
*/
#ifndef MP_UNWIND_H
#define MP_UNWIND_H

#include <stdbool.h>
#include <unwind.h>

/* Calls step for each frame, from the caller's on, until it returns something
** else than _URC_NO_REASON. False: nothing was unwound. From any thread, not in
** a signal's handler; step must neither fork nor unwind. */
bool mp_unwind(_Unwind_Trace_Fn step, void *data);

/* Around a fork, as pthread_atfork calls its functions. */
void mp_unwind_before_fork(void);
void mp_unwind_in_parent(void);
void mp_unwind_in_child(void);

#endif
