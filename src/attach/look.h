/* SPDX-License-Identifier: MIT */
/*
** Why a process cannot be attached to, as far as that can be seen from outside.
*/
#ifndef MP_LOOK_H
#define MP_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether the process is there, is of our kind and not traced, and sees the
** same file under the name of the library. False: buf says why not. */
bool mp_look_process(pid_t pid, const char *library, char *buf, size_t n);

/* Whether it has ended. */
bool mp_look_ended(pid_t pid);

/* Says that the system does not permit it, and what would. */
void mp_look_forbidden(pid_t pid, char *buf, size_t n);

#endif
