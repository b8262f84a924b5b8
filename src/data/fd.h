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

#define MP_FD_HIGH	256

/* The same, above the standard streams, and where there are so many, above the
** numbers that programs use: theirs are the same with the profiler and
** without. */
static inline int mp_fd_high(int fd)
{
  int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, MP_FD_HIGH) : -1;
  if (high < 0) return mp_fd_from(fd, STDERR_FILENO + 1);
  close(fd);
  return high;
}

#endif
