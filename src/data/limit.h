/* SPDX-License-Identifier: MIT */
/*
** The limits of memory that the process has, and how much of each is used.
**
** There are at most four: of the memory cgroup, of the process's addresses
** (RLIMIT_AS), the memory of the machine, and what pointers of 32 bits reach:
** those of a process, or of a VM in a larger process, which whoever knows the
** VM fills in. Files are opened and closed again, no memory is taken; not for
** signal handlers. All amounts are bytes; 0 stands for what nobody knows or
** limits.
*/
#ifndef MP_LIMIT_H
#define MP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mp_limitkind {
  MP_LIMIT_CGROUP, MP_LIMIT_ADDRESSES, MP_LIMIT_MACHINE, MP_LIMIT_POINTERS,
  MP_LIMITS
} mp_limitkind;

#define MP_LIMIT_PATH	512

typedef struct mp_limits {
  uint64_t most[MP_LIMITS];	/* By kind: the limit. */
  uint64_t used[MP_LIMITS];	/* By kind: what is used of the limit. */
  uint64_t rss;			/* Of the process. */
  char cgroup[MP_LIMIT_PATH];	/* Directory of the cgroup with the limit. */
  bool unified;			/* It is a cgroup v2. */
} mp_limits;

/* Finds the limits. root: where the files of the system are, "" but in
** tests. */
void mp_limits_find(mp_limits *s, const char *root);

/* Reads what is used. A cgroup's cache of files that the kernel would drop does
** not count. */
void mp_limits_look(mp_limits *s, const char *root);

/* Whether the kernel may refuse a process more addresses while the machine has
** memory: they or its data are limited, the machine counts what it has
** promised, or that is not known. */
bool mp_limits_refuse(const char *root);

/* The name of a limit, for people. */
const char *mp_limit_name(mp_limitkind kind);

#endif
