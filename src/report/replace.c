/* SPDX-License-Identifier: MIT */
/*
** See report/replace.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/fd.h"
#include "report/replace.h"
#include "report/target.h"
#include "report/write.h"

#define TRIES	100		/* At a name that nobody has. */

/* Makes a file with a name that nobody can foresee. Returns a descriptor, or
** -1 and errno. */
static int create_temporary(int dir, const char *name, char *temp, size_t n)
{
  int i, fd = -1;
  for (i = 0; i < TRIES && fd < 0; i++) {
    uint64_t r;
    if (getrandom(&r, sizeof(r), 0) != sizeof(r)) return -1;
    snprintf(temp, n, ".%.200s.%016llx.tmp", name, (unsigned long long)r);
    fd = mp_fd_high(openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			   0666));
    if (fd < 0 && errno != EEXIST) return -1;
  }
  return fd;
}

/* Gives the new file the mode and owner of the one that it replaces. A
** stranger's file, which may have appeared since the start, is not replaced. */
static int take_after(int dir, const char *name, int fd)
{
  struct stat st;
  int err = mp_target_check(dir, name, &st);
  if (err == ENOENT || err == ELOOP) return 0;
  if (err != 0) return err;
  (void)!fchown(fd, st.st_uid, st.st_gid);
  (void)!fchmod(fd, st.st_mode & 0777);
  return 0;
}

int mp_replace(int dir, const char *name, const char *text, size_t len)
{
  char temp[NAME_MAX + 1];
  int fd, err;
  fd = create_temporary(dir, name, temp, sizeof(temp));
  if (fd < 0) return errno;
  err = take_after(dir, name, fd);
  if (err == 0) err = mp_write(fd, text, len);
  if (close(fd) != 0 && err == 0) err = errno;
  if (err == 0 && renameat(dir, temp, dir, name) != 0) err = errno;
  if (err != 0) unlinkat(dir, temp, 0);
  return err;
}

static int create_and_remove(int dir, const char *name)
{
  char temp[NAME_MAX + 1];
  int fd = create_temporary(dir, name, temp, sizeof(temp));
  if (fd < 0) return errno;
  close(fd);
  unlinkat(dir, temp, 0);
  return 0;
}

/* A signal that ends the program must not leave the file behind. */
int mp_replace_try(int dir, const char *name)
{
  sigset_t all, old;
  int err;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  err = create_and_remove(dir, name);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return err;
}
