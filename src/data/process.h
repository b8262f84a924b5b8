/* SPDX-License-Identifier: MIT */
/*
** The process that is profiled: this one, or, in a child that stands in for it
** to write its reports, the parent.
**
** A filter of the program's (seccomp) may refuse getpid and gettid, which else
** never fail. Their wrappers return errors as if they were numbers, and a
** signal that is sent to -1 goes to all processes of the user: here the numbers
** are always those of a process and a thread.
*/
#ifndef MP_PROCESS_H
#define MP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

pid_t mp_process(void);

/* The number of this process, and of this thread. Async-signal-safe. The child
** of vfork has its parent's where getpid is refused. */
pid_t mp_process_self(void);
pid_t mp_process_thread(void);

/* Sends a signal to this thread. False: it is refused. Async-signal-safe. */
bool mp_process_raise(int sig);

/* From now on this process stands in for that one. */
void mp_process_stand_in(pid_t pid);

/* Whether it does. */
bool mp_process_stands_in(void);

/* Notes whose memory this is; to be called once or more before a handler asks
** for any of these. */
void mp_process_note(void);

/* Whether the memory here is another process's: in the child of vfork or
** posix_spawn, which has our handlers until it calls exec, and must leave
** everything as it is. Async-signal-safe. */
bool mp_process_borrows(void);

#endif
