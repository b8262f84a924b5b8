/* SPDX-License-Identifier: MIT */
/*
** See process/seen.h. The file is a memfd, which has a byte once LuaJIT was
** seen. A number that the program has used for another file since is
** recognized.
*/
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/fd.h"
#include "process/seen.h"

#define VARIABLE	"LUAJIT_MP_SEEN"

/* The environment may be gone at the end: it is read at the start. */
static struct {
  long program;			/* 0: there is none. */
  long pid;			/* Of who keeps the file; 0: nobody. */
  int fd;			/* There. */
  unsigned long long dev, ino;
} seen;

bool mp_seen_is_program(void)
{
  return seen.program == (long)getpid();
}

/* Whether a descriptor of this process is the file. */
static bool is_file(int fd, off_t *size)
{
  struct stat st;
  if (seen.pid == 0 || fstat(fd, &st) != 0 || st.st_dev != seen.dev ||
      st.st_ino != seen.ino)
    return false;
  *size = st.st_size;
  return true;
}

static void make(void)
{
  char text[96];
  struct stat st;
  int fd = mp_fd_high(memfd_create("luajit-mp", 0));
  seen.pid = 0;
  if (fd < 0) return;
  /* The program may become another one, which goes on with the file. */
  if (fcntl(fd, F_SETFD, 0) != 0 || fstat(fd, &st) != 0) {
    close(fd);
    return;
  }
  seen.pid = (long)getpid();
  seen.fd = fd;
  seen.dev = st.st_dev;
  seen.ino = st.st_ino;
  snprintf(text, sizeof(text), "%ld %d %llu %llu", seen.pid, seen.fd, seen.dev,
	   seen.ino);
  setenv(VARIABLE, text, 1);
}

/* False: the program was not started by luajit-mp run. */
static bool read_environment(void)
{
  const char *program = getenv("LUAJIT_MP_PROGRAM");
  const char *file = getenv(VARIABLE);
  if (program == NULL) return false;
  seen.program = atol(program);
  if (file == NULL || sscanf(file, "%ld %d %llu %llu", &seen.pid, &seen.fd,
			     &seen.dev, &seen.ino) != 4)
    seen.pid = 0;
  return true;
}

void mp_seen_begin(void)
{
  off_t size;
  bool here;
  if (!read_environment()) return;
  here = is_file(seen.fd, &size);
  if (here && seen.pid == (long)getpid()) return;
  if (here) close(seen.fd);
  if (mp_seen_is_program()) make();
}

/* The descriptor is opened without an effect before it is known to be one of
** the file. Only an empty file is changed: the environment may be wrong, and
** name one that has contents. */
void mp_seen_note(void)
{
  char path[64];
  off_t size;
  int fd;
  if (seen.pid == 0) return;
  snprintf(path, sizeof(path), "/proc/%ld/fd/%d", seen.pid, seen.fd);
  fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  if (is_file(fd, &size) && size == 0 && truncate(path, 1) != 0) seen.pid = 0;
  close(fd);
}

void mp_seen_profiled(void)
{
  if (read_environment()) mp_seen_note();
}

bool mp_seen_none(void)
{
  off_t size;
  return is_file(seen.fd, &size) && size == 0;
}
