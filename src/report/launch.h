/* SPDX-License-Identifier: MIT */
/*
** Starts a command in the background that is not a child of the program: no
** SIGCHLD comes of it, nothing that wait() would find, and it has none of the
** program's descriptors, signals or terminal.
*/
#ifndef MP_LAUNCH_H
#define MP_LAUNCH_H

#include <sys/types.h>

#define MP_LAUNCH_FDS	8	/* At most. */
#define MP_LAUNCH_HIGH	64	/* Descriptors from here on stay. */

typedef struct mp_launch {
  const char *file;		/* The command's absolute name, */
  char *const *argv;		/* and its words, the last of them NULL. */
  int fds[MP_LAUNCH_FDS];	/* For 0, 1, 2, ...: from MP_LAUNCH_HIGH on. */
  int nfds;
  pid_t pid;			/* What was started; 0: not known. */
} mp_launch;

/* Returns 0, or an errno value. */
int mp_launch_orphan(mp_launch *l);

#endif
