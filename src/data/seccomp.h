/* SPDX-License-Identifier: MIT */
/*
** Filters of system calls (seccomp), which may end the process for a call that
** a profile makes.
**
** A filter is a small program, which is followed here with the number of a
** system call and any arguments.
*/
#ifndef MP_SECCOMP_H
#define MP_SECCOMP_H

#include <stdbool.h>

typedef struct mp_needed {
  int number;
  const char *name;
  bool must;			/* An error would end the process, too. */
} mp_needed;

/* A profile's: calls of the loader, the profiler and the C library. The name of
** the last one is NULL. */
extern const mp_needed mp_seccomp_calls[];

struct sock_filter;

/* One of these for which the process may end with that filter, or NULL. On
** other processors than x86-64 none is known. */
const mp_needed *mp_seccomp_deadly(const struct sock_filter *ins,
				   unsigned count);

#endif
