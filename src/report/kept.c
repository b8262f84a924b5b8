/* SPDX-License-Identifier: MIT */
/*
** See report/kept.h.
*/
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "report/kept.h"

void mp_kept_set(mp_kept *k, int fd)
{
  struct stat st;
  k->fd = fd;
  k->dev = 0;
  k->ino = 0;
  if (fstat(fd, &st) != 0) return;
  k->dev = st.st_dev;
  k->ino = st.st_ino;
}

bool mp_kept_holds(const mp_kept *k)
{
  struct stat st;
  return k->fd >= 0 && fstat(k->fd, &st) == 0 && st.st_dev == k->dev &&
	 st.st_ino == k->ino;
}

void mp_kept_close(mp_kept *k)
{
  if (mp_kept_holds(k)) close(k->fd);
  k->fd = -1;
}
