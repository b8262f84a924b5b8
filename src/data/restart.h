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

#include <signal.h>

/* The signals that a handler is to block that calls mp_restart_call: all but
** those of faults. */
void mp_restart_mask(sigset_t *set);

/* In the handler of that signal; context: the handler's. If the signal
** interrupted such a call, the call is made again when the handler returns,
** with all of its time: little has passed, as the CPU clock stands still while
** a thread waits. Only on x86-64, where the number of the call can be read
** before it, and on arm64, where its first argument can.
**
** The call is left as it is if a signal of the program's may have ended it:
** made again, it could wait for what has come already. That is so while such a
** signal is pending, and where the program has a handler that is to end calls
** (without SA_RESTART) or that blocks ours, which comes when it returns. */
void mp_restart_call(int sig, void *context);

/* That handler does not count: nothing is lost if a call goes on behind it. */
void mp_restart_except(void (*handler)(int, siginfo_t *, void *));

#endif
