/* SPDX-License-Identifier: MIT */
/*
** System calls that wait, and that a signal of ours has interrupted.
**
** SA_RESTART has the kernel make most calls again, but not those with a time,
** as poll and nanosleep: these fail with EINTR. A program that is not profiled
** sees none, and may end for it.
*/
#ifndef MP_RESTART_H
#define MP_RESTART_H

/* In a handler, whose context that is: if the signal interrupted such a call,
** the call is made again when the handler returns. Its time begins anew, of
** which little has passed: the CPU clock ticks as a call begins. On x86-64, and
** where the number of the call can be read before it; else nothing is done. */
void mp_restart_call(void *context);

#endif
