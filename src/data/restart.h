/* SPDX-License-Identifier: MIT */
/*
** System calls that wait, and that a signal of ours has interrupted.
**
** SA_RESTART has the kernel make most calls again, but not those with a time,
** as poll and nanosleep: these fail with EINTR. A program that meets no EINTR
** without a profile may not be prepared for one.
*/
#ifndef MP_RESTART_H
#define MP_RESTART_H

/* In a handler; context: the handler's. If the signal interrupted such a call,
** the call is made again when the handler returns, with all of its time: little
** has passed, as the CPU clock stands still while a thread waits. Only on
** x86-64, where the number of the call can be read before it, and on arm64,
** where its first argument can. */
void mp_restart_call(void *context);

#endif
