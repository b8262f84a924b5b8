/*
** Where a report goes: standard output or a file.
**
** Whether a file can be written is found out when the profile starts, so that
** a wrong name is known before the program has run. A file is complete or
** absent: it is written beside its place, at the end, and then renamed. The
** directory is kept open: the program may change its directory or root. What
** is no regular file (a terminal, a pipe) is opened at the start and written
** at the end, if the descriptor still is that file: a program that closes all
** its descriptors and opens others must not find a report in one of those.
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
#include <time.h>
#include <unistd.h>

#include "profile/ctx.h"

bool mp_output_perpid(const mp_output *o)
{
  return o->path != NULL && strstr(o->path, "%p") != NULL;
}

/* -- Names --------------------------------------------------------------- */

/* The path with %p and %t replaced. NULL: no memory. */
static char *expand(const mp_output *o)
{
  char pid[24], started[24], *out, *q;
  time_t t = (time_t)o->started;
  struct tm tm;
  const char *p;
  snprintf(pid, sizeof(pid), "%ld", (long)getpid());
  localtime_r(&t, &tm);
  strftime(started, sizeof(started), "%Y%m%d-%H%M%S", &tm);
  out = malloc(strlen(o->path) * 12 + 1);  /* Two characters: 23 at most. */
  if (out == NULL) return NULL;
  for (p = o->path, q = out; *p; ) {
    if (p[0] == '%' && (p[1] == 'p' || p[1] == 't')) {
      q = stpcpy(q, p[1] == 'p' ? pid : started);
      p += 2;
    } else {
      *q++ = *p++;
    }
  }
  *q = '\0';
  return out;
}

/* The same, where a symbolic link to an existing file is followed. */
static char *target(const mp_output *o)
{
  char *path = expand(o), *real;
  if (path == NULL) return NULL;
  real = realpath(path, NULL);
  if (real == NULL) return path;
  free(path);
  return real;
}

/* Splits a path at its last slash, in place. Returns the name within the
** directory; *dir is the directory. */
static char *split(char *path, const char **dir)
{
  char *slash = strrchr(path, '/');
  *slash = '\0';
  *dir = slash == path ? "/" : path;
  return slash + 1;
}

/* Name of the file beside it that is written first. NULL: no memory. */
static char *beside(const char *name)
{
  size_t n = strlen(name) + 32;
  char *s = malloc(n);
  if (s != NULL) snprintf(s, n, ".%.200s.%ld.tmp", name, (long)getpid());
  return s;
}

static int create(int dir, const char *name)
{
  unlinkat(dir, name, 0);
  return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* -- Opening ------------------------------------------------------------- */

static void remember(mp_output *o, int fd)
{
  struct stat st;
  o->fd = fd;
  if (fstat(fd, &st) != 0) return;
  o->dev = st.st_dev;
  o->ino = st.st_ino;
}

static int open_special(mp_output *o, const char *path)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return errno;
  remember(o, fd);
  return 0;
}

/* Whether a file can be made there; keeps the directory. */
static int try_directory(mp_output *o, char *path)
{
  const char *dir;
  char *name = split(path, &dir), *temp;
  int fd, dirfd, err = 0;
  if (*name == '\0') return EISDIR;
  if ((temp = beside(name)) == NULL) return ENOMEM;
  dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
  fd = dirfd < 0 ? -1 : create(dirfd, temp);
  if (fd < 0) {
    err = errno;
    if (dirfd >= 0) close(dirfd);
  } else {
    close(fd);
    unlinkat(dirfd, temp, 0);
    remember(o, dirfd);
  }
  free(temp);
  return err;
}

/* A link may lead elsewhere at the end, from another root. */
static void keep_target(mp_output *o, const char *path)
{
  char *copy = strchr(o->path, '%') ? NULL : strdup(path);
  if (copy == NULL) return;
  free(o->path);
  o->path = copy;
}

static int open_output(mp_output *o)
{
  char *path = target(o);
  struct stat st;
  int err = 0;
  if (path == NULL) return ENOMEM;
  keep_target(o, path);
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
    err = access(path, W_OK) != 0 && errno != ENOENT ? errno :
	  try_directory(o, path);
  } else if (S_ISDIR(st.st_mode)) {
    err = EISDIR;
  } else {
    o->special = true;
    if (!S_ISFIFO(st.st_mode)) err = open_special(o, path);
  }
  free(path);
  return err;
}

int mp_output_open(mp_output *o, const char *name, const char *cwd)
{
  memset(o, 0, sizeof(*o));
  o->fd = -1;
  o->started = (double)time(NULL);
  if (name == NULL || strcmp(name, "-") == 0) return 0;
  o->given = strdup(name);
  o->path = malloc(strlen(name) + strlen(cwd) + 2);
  if (o->given == NULL || o->path == NULL) return ENOMEM;
  if (name[0] == '/') strcpy(o->path, name);
  else sprintf(o->path, "%s/%s", cwd, name);
  return open_output(o);
}

void mp_output_forked(mp_output *o)
{
  if (o->special) o->dev = 0, o->ino = 0;  /* It is the parent's. */
}

/* Whether the descriptor still is the file that was opened. */
static bool still_open(const mp_output *o)
{
  struct stat st;
  return o->fd >= 0 && fstat(o->fd, &st) == 0 && st.st_dev == o->dev &&
	 st.st_ino == o->ino;
}

/* -- Writing ------------------------------------------------------------- */

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

static int write_special(mp_output *o, const char *text, size_t len)
{
  if (!still_open(o)) {  /* Who reads a pipe may come late. */
    char *path = target(o);
    int err = path ? open_special(o, path) : ENOMEM;
    free(path);
    if (err != 0) return err;
  }
  return write_all(o->fd, text, len);
}

/* Writes a file in that directory, or leaves what is there. */
static int replace(int dir, const char *name, const char *text, size_t len)
{
  char *temp = beside(name);
  struct stat st;
  int fd, err;
  if (temp == NULL) return ENOMEM;
  fd = create(dir, temp);
  if (fd < 0) {
    err = errno;
    free(temp);
    return err;
  }
  if (fstatat(dir, name, &st, 0) == 0) (void)!fchmod(fd, st.st_mode & 07777);
  err = write_all(fd, text, len);
  if (close(fd) != 0 && err == 0) err = errno;
  if (err == 0 && renameat(dir, temp, dir, name) != 0) err = errno;
  if (err != 0) unlinkat(dir, temp, 0);
  free(temp);
  return err;
}

static int write_file(mp_output *o, const char *text, size_t len)
{
  char *path = target(o), *name;
  const char *dir;
  int err, fd;
  if (path == NULL) return ENOMEM;
  name = split(path, &dir);
  if (still_open(o)) {
    err = replace(o->fd, name, text, len);
  } else if ((fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
    err = errno;
  } else {
    err = replace(fd, name, text, len);
    close(fd);
  }
  free(path);
  return err;
}

int mp_output_write(mp_output *o, const char *text, size_t len)
{
  if (o->path == NULL) {
    flush_stdout();
    return write_all(STDOUT_FILENO, text, len);
  }
  return o->special ? write_special(o, text, len) : write_file(o, text, len);
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
