/* SPDX-License-Identifier: MIT */
/*
** The process that is profiled: this one, or, in a child that stands in for it
** to write its reports, the parent.
*/
#ifndef MP_PROCESS_H
#define MP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

pid_t mp_process(void);

/* From now on this process stands in for that one. */
void mp_process_stand_in(pid_t pid);

/* Whether it does. */
bool mp_process_stands_in(void);

/* Notes whose memory this is; to be called once or more before a handler asks
** mp_process_borrows. */
void mp_process_note(void);

/* Whether the memory here is another process's: in the child of vfork or
** posix_spawn, which has our handlers until it calls exec, and must leave
** everything as it is. Async-signal-safe. */
bool mp_process_borrows(void);

#endif
