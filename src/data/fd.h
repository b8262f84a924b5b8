/* SPDX-License-Identifier: MIT */
/*
** Descriptors that stay open. A program that runs without one of its standard
** streams must not find a file of the profiler's in its place.
*/
#ifndef MP_FD_H
#define MP_FD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Returns a descriptor of the same file with that number or a higher one, which
** takes the place of fd. -1, and errno: there is none, or fd was -1. */
static inline int mp_fd_from(int fd, int least)
{
  int high, saved;
  if (fd < 0 || fd >= least) return fd;
  high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  saved = errno;
  close(fd);
  errno = saved;
  return high;
}

/* The same, above the standard streams. */
static inline int mp_fd_high(int fd)
{
  return mp_fd_from(fd, STDERR_FILENO + 1);
}

#endif
