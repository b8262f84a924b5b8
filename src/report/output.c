/* SPDX-License-Identifier: MIT */
/*
** See report/output.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/fd.h"
#include "data/lock.h"
#include "data/process.h"
#include "data/seed.h"
#include "data/spell.h"
#include "report/output.h"
#include "report/target.h"
#include "report/write.h"

/* -- Descriptors that are kept -------------------------------------------- */

/*
** Descriptors that are kept while the program runs. The program may close them
** and open others, so each is used only while it is still the file that was
** opened.
*/

/* Keeps the descriptor. */
static void kept_set(mp_kept *k, int fd)
{
  struct stat st;
  k->fd = fd;
  k->dev = 0;
  k->ino = 0;
  if (fstat(fd, &st) != 0) return;
  k->dev = st.st_dev;
  k->ino = st.st_ino;
}

/* Whether the descriptor is still that file. */
static bool kept_holds(const mp_kept *k)
{
  struct stat st;
  return k->fd >= 0 && fstat(k->fd, &st) == 0 && st.st_dev == k->dev &&
	 st.st_ino == k->ino;
}

/* Closes the descriptor, if it is still that file. */
static void kept_close(mp_kept *k)
{
  if (kept_holds(k)) close(k->fd);
  k->fd = -1;
}

/* -- Files that are complete or absent ------------------------------------ */

/*
** Files that are complete or absent: each is written under another name in the
** same directory, and then renamed.
**
** Functions return 0, an errno value or MP_FOREIGN.
*/

#define TRIES	100		/* At a name that nobody has. */

/* Makes a new file with a name that others can hardly foresee. Returns a
** descriptor, or -1 and errno. */
static int create_temporary(int dir, const char *name, char *temp, size_t n)
{
  int i, fd = -1;
  for (i = 0; i < TRIES && fd < 0; i++) {
    snprintf(temp, n, ".%.200s.%016llx.tmp", name,
	     (unsigned long long)mp_seed());
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

/* Closes a file that was written. A filter of system calls may refuse that:
** then it is still open, and nothing is lost. */
static int close_written(int fd)
{
  struct stat was, is;
  int err = fstat(fd, &was) != 0 ? errno : 0;
  if (close(fd) == 0) return 0;
  if (err == 0) err = errno;
  return fstat(fd, &is) == 0 && is.st_dev == was.st_dev &&
	 is.st_ino == was.st_ino ? 0 : err;
}

/* Writes a file of that name in the directory, or leaves the old one. The new
** file has the mode and owner of the one that it replaces. */
static int replace_file(int dir, const char *name, const char *text, size_t len)
{
  char temp[NAME_MAX + 1];
  int fd, err, closed;
  fd = create_temporary(dir, name, temp, sizeof(temp));
  if (fd < 0) return errno;
  err = take_after(dir, name, fd);
  if (err == 0) err = mp_write(fd, text, len);
  closed = close_written(fd);
  if (err == 0) err = closed;
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

/* Whether such a file can be made there: 0, or why not. A signal that ends the
** program must not leave the file behind. */
static int replace_try(int dir, const char *name)
{
  sigset_t all, old;
  int err;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  err = create_and_remove(dir, name);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return err;
}

/* -- Outputs -------------------------------------------------------------- */

bool mp_output_perpid(const mp_output *o)
{
  return o->push != NULL ||
	 (o->path != NULL && strstr(o->path, "%p") != NULL);
}

bool mp_output_perevent(const mp_output *o)
{
  return o->path != NULL && strstr(o->path, "%e") != NULL;
}

void mp_output_event(mp_output *o, const char *name)
{
  snprintf(o->event, sizeof(o->event), "%s", name);
  o->pid = 0;  /* The name is to be made again. */
}

bool mp_output_is_file(const mp_output *o)
{
  return o->writer.write != NULL || (o->path != NULL && !o->special);
}

const char *mp_output_error(int err)
{
  if (err == MP_ELSEWHERE)
    return "the program is stuck, and nobody else can call its writer";
  if (err == MP_UNREAD) return "nobody reads this FIFO";
  if (err == MP_STALLED) return "nobody reads the other end";
  if (err == MP_NO_CURL)
    return "there is no curl command, which sends it: install the package curl";
  if (err != MP_FOREIGN) return strerror(err);
  return "it belongs to another user, in a directory that anybody may write to";
}

/* Whether a terminal may take these bytes for a command: C0, DEL, and C1 in
** UTF-8. */
static bool is_control(const unsigned char *s)
{
  return s[0] < 0x20 || s[0] == 0x7f ||
	 (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
}

const char *mp_output_name(char buf[MP_NAME_SIZE], const char *name)
{
  const unsigned char *s = (const unsigned char *)name;
  char *out = buf;
  for (; *s != '\0' && out < buf + MP_NAME_SIZE - 5; s++) {
    s += mp_spell_secret(name, (const char *)s);
    if (*s == '\0') break;
    if (is_control(s)) out += sprintf(out, "\\%03d", *s);
    else *out++ = (char)*s;
  }
  *out = '\0';
  return buf;
}

/* -- Names --------------------------------------------------------------- */

/* The local time of a moment. The C library has a lock for time zones, which a
** fork does not renew: our lock keeps forks away. */
static void write_time(double moment, char *buf, size_t n)
{
  time_t t = (time_t)moment;
  struct tm tm;
  mp_lock();
  localtime_r(&t, &tm);
  strftime(buf, n, "%Y%m%d-%H%M%S", &tm);
  mp_unlock();
}

/* The text for that letter behind a %; NULL: both stand for themselves. */
static const char *meaning(char letter, const char *pid, const char *started,
			   const mp_output *o)
{
  switch (letter) {
  case 'p': return pid;
  case 't': return started;
  case 'e': return o->event[0] != '\0' ? o->event : "end";
  default: return NULL;
  }
}

/* The path with %p, %t and %e replaced. NULL: no memory. */
static char *expand(const mp_output *o)
{
  char pid[24], started[24] = "", *out, *q;
  const char *p, *text;
  snprintf(pid, sizeof(pid), "%ld", (long)mp_process());
  if (strstr(o->path, "%t") != NULL)
    write_time(o->started, started, sizeof(started));
  out = malloc(strlen(o->path) * 12 + 1);  /* Two characters: 23 at most. */
  if (out == NULL) return NULL;
  for (p = o->path, q = out; *p; ) {
    text = p[0] == '%' ? meaning(p[1], pid, started, o) : NULL;
    if (text != NULL) {
      q = stpcpy(q, text);
      p += 2;
    } else {
      *q++ = *p++;
    }
  }
  *q = '\0';
  return out;
}

/* Finds the target of the path, and keeps it. */
static int find_target(mp_output *o)
{
  char *path = o->literal ? strdup(o->path) : expand(o);
  mp_target target;
  int err;
  if (path == NULL) return ENOMEM;
  err = mp_target_find(&target, path);
  free(path);
  if (err != 0) return err;
  /* The program may have closed the old one: then this one has its number. */
  if (o->dir.fd != target.dir) kept_close(&o->dir);
  kept_set(&o->dir, target.dir);
  memcpy(o->name, target.name, sizeof(o->name));
  o->pid = mp_process();
  return 0;
}

/* -- Opening ------------------------------------------------------------- */

#define STEP	10		/* Milliseconds between two tries. */

/* A FIFO opens as soon as it has a reader: it is asked again and again, as a
** call that waits for one could wait for ever. Where none has come, the next
** report does not wait. The descriptor stays non-blocking. */
static int open_fifo(mp_output *o, int flags)
{
  double since = mp_clock_wall();
  int fd;
  for (;;) {
    fd = mp_fd_high(openat(o->dir.fd, o->name, flags | O_NONBLOCK));
    if (fd >= 0 || errno != ENXIO) break;
    if (o->deserted || mp_write_deserted(since)) break;
    mp_clock_pause(STEP);
  }
  o->deserted = fd < 0 && errno == ENXIO;
  return fd;
}

/* Without O_TRUNC: a file behind a descriptor of /proc/self/fd is appended to,
** as by the program's own output. */
static int open_special(mp_output *o)
{
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
  struct stat st;
  int fd, err = mp_target_check(o->dir.fd, o->name, &st);
  if (err != 0) return err;
  if (!S_ISLNK(st.st_mode)) flags |= O_NOFOLLOW;
  o->fifo = S_ISFIFO(st.st_mode);
  mp_write_begins_waiting();  /* The other end may have no reader yet. */
  do
    fd = o->fifo ? open_fifo(o, flags) :
	 mp_fd_high(openat(o->dir.fd, o->name, flags));
  while (fd < 0 && errno == EINTR);
  mp_write_ends_waiting();
  if (fd < 0) return o->deserted ? MP_UNREAD : errno;
  kept_set(&o->file, fd);
  return 0;
}

static int open_output(mp_output *o)
{
  struct stat st;
  int err = find_target(o);
  if (err != 0) return err;
  err = mp_target_check(o->dir.fd, o->name, &st);
  if (err == ENOENT) return replace_try(o->dir.fd, o->name);
  if (err != 0) return err;
  if (S_ISDIR(st.st_mode)) return EISDIR;
  if (faccessat(o->dir.fd, o->name, W_OK, 0) != 0) return errno;
  if (S_ISREG(st.st_mode)) return replace_try(o->dir.fd, o->name);
  o->special = true;
  return S_ISFIFO(st.st_mode) ? 0 : open_special(o);
}

/* Fills in everything but the target. False: no memory. */
static bool init(mp_output *o, const char *name, const char *cwd)
{
  memset(o, 0, sizeof(*o));
  o->dir.fd = o->file.fd = -1;
  o->started = (double)time(NULL);
  if (name == NULL || strcmp(name, "-") == 0) return true;
  o->given = strdup(name);
  o->path = malloc(strlen(name) + strlen(cwd) + 2);
  if (o->given == NULL || o->path == NULL) return false;
  if (name[0] == '/') strcpy(o->path, name);
  else sprintf(o->path, "%s/%s", cwd, name);
  return true;
}

static int open_address(mp_output *o, const char *name)
{
  int err = ENOMEM;
  if (!init(o, NULL, "") || (o->given = strdup(name)) == NULL) return ENOMEM;
  o->push = mp_push_new(&err);
  return o->push != NULL ? 0 : err == ENOENT ? MP_NO_CURL : err;
}

int mp_output_open(mp_output *o, const char *name, const char *cwd)
{
  if (mp_push_is_address(name)) return open_address(o, name);
  if (!init(o, name, cwd)) return ENOMEM;
  return o->path != NULL ? open_output(o) : 0;
}

int mp_output_hand(mp_output *o, const char *name, const luajit_mp_writer *w)
{
  if (!init(o, NULL, "")) return ENOMEM;
  o->writer = *w;
  o->given = strdup(name);
  return o->given != NULL ? 0 : ENOMEM;
}

void mp_output_forked(mp_output *o)
{
  if (o->special) kept_close(&o->file);  /* It is the parent's. */
  if (o->push != NULL) mp_push_forget(o->push);
}

void mp_output_close(mp_output *o)
{
  kept_close(&o->dir);
  kept_close(&o->file);
  mp_push_free(o->push);
  o->push = NULL;
  free(o->path);
  free(o->given);
  o->path = o->given = NULL;
}

/* -- Writing ------------------------------------------------------------- */

/* Finds the target again for another process. If that fails, as from another
** root, the directory stays, and only the name is that of this process. */
static int find_again(mp_output *o)
{
  int err = find_target(o);
  char *path;
  const char *name;
  if (err == 0 || !kept_holds(&o->dir)) return err;
  if ((path = expand(o)) == NULL) return ENOMEM;
  name = strrchr(path, '/') + 1;
  if (strlen(name) <= NAME_MAX) {
    strcpy(o->name, name);
    err = 0;
  }
  free(path);
  return err;
}

/* The target as it was kept, if that is still right. */
static int check_target(mp_output *o)
{
  if (o->pid == mp_process() && kept_holds(&o->dir)) return 0;
  return find_again(o);
}

bool mp_output_replaces(mp_output *o)
{
  struct stat st;
  if (!(o->since > 0) || o->written || o->path == NULL || o->special)
    return false;
  return check_target(o) == 0 &&
    mp_target_check(o->dir.fd, o->name, &st) == 0 && S_ISREG(st.st_mode) &&
    (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec * 1e-9 >= o->since;
}

static int write_file(mp_output *o, const char *text, size_t len)
{
  int err = check_target(o);
  o->written = true;
  if (err == 0) err = replace_file(o->dir.fd, o->name, text, len);
  if (err != ENOENT) return err;
  err = find_target(o);  /* The directory may have been made again. */
  return err != 0 ? err : replace_file(o->dir.fd, o->name, text, len);
}

/* To a descriptor that is not a file of ours. */
static int write_on(int fd, const char *text, size_t len)
{
  int err;
  mp_write_stdout_first();  /* It may be the same file. */
  err = mp_write(fd, text, len);
  return err == ETIMEDOUT ? MP_STALLED : err;
}

static int write_special(mp_output *o, const char *text, size_t len)
{
  int err = 0;
  if (!kept_holds(&o->file)) {
    err = check_target(o);
    if (err == 0) err = open_special(o);
  }
  if (err == 0) err = write_on(o->file.fd, text, len);
  return err == MP_STALLED && o->fifo ? MP_UNREAD : err;
}

static int hand_over(const mp_output *o, const char *text, size_t len)
{
  int err;
  if (mp_process_stands_in()) return MP_ELSEWHERE;
  err = o->writer.write(o->writer.ctx, o->given, text, len);
  return err >= 0 ? err : EIO;
}

int mp_output_write(mp_output *o, const char *text, size_t len)
{
  if (o->writer.write != NULL) return hand_over(o, text, len);
  if (o->push != NULL) {
    mp_output_leave(o);
    return mp_push_start(o->push, text, len);
  }
  if (o->path == NULL) return write_on(STDOUT_FILENO, text, len);
  return o->special ? write_special(o, text, len) : write_file(o, text, len);
}

void mp_output_await(mp_output *o)
{
  if (o->push != NULL) mp_push_await(o->push);
}

void mp_output_leave(mp_output *o)
{
  char shown[MP_NAME_SIZE];
  if (o->push != NULL)
    mp_push_leave(o->push, mp_output_name(shown, o->given));
}

int mp_output_put(const char *name, const char *text, size_t len)
{
  char *cwd = getcwd(NULL, 0);
  mp_output o;
  int err = ENOMEM;
  if (init(&o, name, cwd != NULL ? cwd : "")) {
    o.literal = true;
    err = o.path != NULL ? open_output(&o) : 0;
    if (err == 0) err = mp_output_write(&o, text, len);
  }
  mp_output_close(&o);
  free(cwd);
  return err;
}

int mp_output_width(const mp_output *o)
{
  struct winsize ws;
  int fd = o->path ? o->file.fd : STDOUT_FILENO;
  if (o->writer.write != NULL || o->push != NULL) return 0;
  if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &ws) != 0) return 0;
  return ws.ws_col;
}
