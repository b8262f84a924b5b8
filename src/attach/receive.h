/* SPDX-License-Identifier: MIT */
/*
** The file that a process writes its profile to. The process may be a stranger
** to the user, who may be root: nothing is opened that the process names.
*/
#ifndef MP_RECEIVE_H
#define MP_RECEIVE_H

#include <stddef.h>
#include <sys/types.h>

/* Largest profile that is read, in bytes. */
#define MP_RECEIVE_MAX (1 << 30)

/* The descriptor of that number there, as one of ours; -1: it is none of a file
** in memory as the module makes it. pidfd may be -1. */
int mp_receive(int pidfd, pid_t pid, int number);

#endif
