/*
** Where a report goes: standard output or a file.
**
** A file is opened when the profile starts, so that a name that cannot be
** written is known before the program has run. It is written at the end, and
** only if the descriptor still is that file: a program that closes all its
** descriptors and opens others must not find a report in one of those.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mp.h"

bool mp_output_perpid(const mp_output *o)
{
  return o->path != NULL && strstr(o->path, "%p") != NULL;
}

/* The path with each %p replaced by the process id. NULL: no memory. */
static char *expand(const char *path)
{
  char pid[24], *out, *q;
  size_t n = (size_t)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
  const char *p;
  out = malloc(strlen(path) * (n / 2 + 1) + 1);
  if (out == NULL) return NULL;
  for (p = path, q = out; *p; ) {
    if (p[0] == '%' && p[1] == 'p') {
      memcpy(q, pid, n);
      q += n;
      p += 2;
    } else {
      *q++ = *p++;
    }
  }
  *q = '\0';
  return out;
}

static int open_file(mp_output *o)
{
  struct stat st;
  char *path = expand(o->path);
  if (path == NULL) return ENOMEM;
  o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  free(path);
  if (o->fd < 0 || fstat(o->fd, &st) != 0) return errno;
  o->dev = st.st_dev;
  o->ino = st.st_ino;
  return 0;
}

int mp_output_open(mp_output *o, const char *name, const char *cwd)
{
  memset(o, 0, sizeof(*o));
  o->fd = -1;
  if (name == NULL || strcmp(name, "-") == 0) return 0;
  o->given = strdup(name);
  o->path = malloc(strlen(name) + strlen(cwd) + 2);
  if (o->given == NULL || o->path == NULL) return ENOMEM;
  if (name[0] == '/') strcpy(o->path, name);
  else sprintf(o->path, "%s/%s", cwd, name);
  return open_file(o);
}

/* Whether the descriptor still is the file that was opened. */
static bool still_open(const mp_output *o)
{
  struct stat st;
  return o->fd >= 0 && fstat(o->fd, &st) == 0 && st.st_dev == o->dev &&
	 st.st_ino == o->ino;
}

static int write_all(int fd, const char *p, size_t n)
{
  while (n > 0) {
    ssize_t w = write(fd, p, n);
    if (w >= 0) {
      p += w;
      n -= (size_t)w;
    } else if (errno == EAGAIN) {
      struct pollfd pf = { .fd = fd, .events = POLLOUT };
      poll(&pf, 1, 1000);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/* What the program printed comes first. Another thread may be stuck with
** the lock: then its output is late, not ours lost. */
static void flush_stdout(void)
{
  if (ftrylockfile(stdout) != 0) return;
  fflush(stdout);
  funlockfile(stdout);
}

int mp_output_write(mp_output *o, const char *text, size_t len)
{
  if (o->path == NULL) {
    flush_stdout();
    return write_all(STDOUT_FILENO, text, len);
  }
  if (!still_open(o)) {
    int err = open_file(o);
    if (err != 0) return err;
  }
  return write_all(o->fd, text, len);
}

void mp_output_close(mp_output *o)
{
  if (still_open(o)) close(o->fd);
  o->fd = -1;
  free(o->path);
  free(o->given);
  o->path = o->given = NULL;
}

int mp_output_width(const mp_output *o)
{
  struct winsize ws;
  int fd = o->path ? o->fd : STDOUT_FILENO;
  if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &ws) != 0) return 0;
  return ws.ws_col;
}
