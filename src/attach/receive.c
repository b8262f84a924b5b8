/* SPDX-License-Identifier: MIT */
/*
** See attach/receive.h.
*/
#include "config.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/receive.h"

/* Whether it is a file in memory that has our name, and no other. */
static bool is_expected(int fd)
{
  static const char name[] = "/memfd:luajit-mp";
  char link[64], text[256];
  struct statfs fs;
  struct stat st;
  ssize_t n;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  n = readlink(link, text, sizeof(text));
  return n >= (ssize_t)sizeof(name) - 1 &&
	 memcmp(text, name, sizeof(name) - 1) == 0 &&
	 fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	 fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0;
}

static int checked(int fd)
{
  if (fd < 0 || is_expected(fd)) return fd;
  close(fd);
  return -1;
}

/* Opens the file again, once it is known to be such a file. */
static int reopen(pid_t pid, int number)
{
  char name[64];
  int path, fd;
  snprintf(name, sizeof(name), "/proc/%ld/fd/%d", (long)pid, number);
  path = checked(open(name, O_PATH | O_CLOEXEC));
  if (path < 0) return -1;
  snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
  fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  close(path);
  return checked(fd);
}

int mp_receive(int pidfd, pid_t pid, int number)
{
  int fd = -1;
#ifdef SYS_pidfd_getfd
  if (pidfd >= 0) fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
#endif
  return fd >= 0 ? checked(fd) : reopen(pid, number);
}
