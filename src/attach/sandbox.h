/* SPDX-License-Identifier: MIT */
/*
** Whether the seccomp filters of a process let the profiler work in it: a
** filter may kill the process for a system call.
*/
#ifndef MP_SANDBOX_H
#define MP_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether no filter of any thread ends the process for a system call that a
** profile makes. Filters are read where the system permits that; elsewhere they
** must be the same as our own, which are tried. False: buf says why not. */
bool mp_sandbox_permits(pid_t pid, char *buf, size_t n);

#endif
