/* SPDX-License-Identifier: MIT */
/*
** See data/file.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"

/* Whether a path, without links, is below a directory. */
static int check_below(const char *path, const char *directory)
{
  char real[PATH_MAX], root[PATH_MAX];
  size_t n;
  if (realpath(path, real) == NULL || realpath(directory, root) == NULL)
    return errno;
  n = strlen(root);
  if (n == 1) return 0;  /* "/" */
  return strncmp(real, root, n) == 0 && real[n] == '/' ? 0 : MP_FILE_OUTSIDE;
}

int mp_file_size(const char *path, const char *below, size_t *size)
{
  struct stat st;
  if (stat(path, &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return MP_FILE_KIND;
  *size = (size_t)st.st_size;
  return below != NULL ? check_below(path, below) : 0;
}

static int read_all(int fd, char *buf, size_t size, size_t *n)
{
  *n = 0;
  while (*n < size) {
    ssize_t got = read(fd, buf + *n, size - *n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    *n += (size_t)got;
  }
  return 0;
}

int mp_file_read(const char *path, char *buf, size_t size, size_t *n)
{
  struct stat st;
  int err, fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return errno;
  if (fstat(fd, &st) != 0) err = errno;
  else if (!S_ISREG(st.st_mode)) err = MP_FILE_KIND;
  else err = read_all(fd, buf, size, n);
  close(fd);
  return err;
}

const char *mp_file_error(int err)
{
  switch (err) {
  case MP_FILE_KIND: return "not a regular file";
  case MP_FILE_OUTSIDE: return "outside the directory of the program";
  default: return strerror(err);
  }
}
