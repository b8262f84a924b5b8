/* SPDX-License-Identifier: MIT */
/*
** See report/push.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/fd.h"
#include "data/process.h"
#include "report/push.h"
#include "report/write.h"

/* -- The command ---------------------------------------------------------- */

/*
** Starts a command in the background that is not a child of the program: no
** SIGCHLD comes of it, nothing that wait() would find, and it has none of the
** program's descriptors, signals or terminal.
*/

#define FDS	8		/* A text has fewer parts. */
#define HIGH	64		/* Descriptors from here on stay. */

typedef struct mp_launch {
  const char *file;		/* The command's absolute name. */
  char *const *argv;		/* The command's words, the last one NULL. */
  int fds[FDS];			/* For 0, 1, 2, ...: from HIGH on. */
  int nfds;
  pid_t pid;			/* What was started; 0: not known. */
} mp_launch;

#define STACK		(64 << 10)	/* Of the process in between. */

extern char **environ;

/* For the process in between. */
typedef struct launch {
  mp_launch *what;
  int err;
} launch;

/* Closes all but the first descriptors, in a table that is this process's own.
** A server must not find its sockets kept by us. */
static void close_from(int fd)
{
  long max;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0) == 0) return;
#endif
  for (max = sysconf(_SC_OPEN_MAX); fd < max && fd < 65536; fd++) close(fd);
}

/* Starts the command and ends, so that the command is an orphan. Runs in the
** memory of the program, whose thread waits, but with tables of its own of
** descriptors and signals. */
static int start_and_end(void *data)
{
  launch *l = data;
  mp_launch *w = l->what;
  posix_spawnattr_t attr;
  sigset_t set;
  int i;
  for (i = 0; i < w->nfds; i++)
    if (dup2(w->fds[i], i) < 0) _exit(1);
  close_from(w->nfds);
  (void)!chdir("/");
  sigemptyset(&set);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &set);
  sigfillset(&set);
  posix_spawnattr_setsigdefault(&attr, &set);
  posix_spawnattr_setpgroup(&attr, 0);  /* Ctrl-C is not for it. */
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
			   POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  l->err = posix_spawn(&w->pid, w->file, NULL, &attr, w->argv, environ);
  _exit(0);
}

/* Returns 0, or an errno value. With all signals blocked. The end of the
** process in between raises no signal, and a wait of the program's does not see
** it. */
static int launch_orphan(mp_launch *what)
{
  launch l = { what, 0 };
  char *stack = malloc(STACK);
  sigset_t all, old;
  int status, err = 0;
  pid_t child;
  if (stack == NULL) return ENOMEM;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  child = clone(start_and_end, stack + STACK, CLONE_VM | CLONE_VFORK, &l);
  if (child < 0) err = errno;
  while (child > 0 && waitpid(child, &status, __WALL) < 0 && errno == EINTR);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  free(stack);
  return err != 0 ? err : l.err;
}

/* -- Requests ------------------------------------------------------------- */

bool mp_push_is_address(const char *name)
{
  return name != NULL && (strncmp(name, "http://", 7) == 0 ||
			  strncmp(name, "https://", 8) == 0);
}

/* -- Making -------------------------------------------------------------- */

/* The absolute name of the curl command, or NULL and errno. */
static char *find_curl(void)
{
  const char *path = getenv("PATH"), *end;
  char name[4096];
  if (path == NULL || *path == '\0') path = "/usr/bin:/bin";
  for (; ; path = end + 1) {
    end = strchrnul(path, ':');
    snprintf(name, sizeof(name), "%.*s/curl", (int)(end - path), path);
    if (name[0] == '/' && access(name, X_OK) == 0) return strdup(name);
    if (*end == '\0') break;
  }
  errno = ENOENT;
  return NULL;
}

mp_push *mp_push_new(int *err)
{
  mp_push *p = calloc(1, sizeof(*p));
  if (p != NULL) {
    p->fd = -1;
    p->curl = find_curl();
    if (p->curl != NULL) return p;
  }
  *err = errno;
  free(p);
  return NULL;
}

void mp_push_forget(mp_push *p)
{
  struct stat st;
  if (p->fd >= 0 && fstat(p->fd, &st) == 0 && st.st_dev == p->dev &&
      st.st_ino == p->ino)
    close(p->fd);
  p->fd = -1;
}

void mp_push_free(mp_push *p)
{
  if (p == NULL) return;
  mp_push_forget(p);
  free(p->curl);
  free(p);
}

/* -- Starting curl ------------------------------------------------------- */

/* A file in memory with that text, at its beginning; or -1 and errno. */
static int memory_file(const char *text, size_t len)
{
  int err, fd = mp_fd_from(memfd_create("luajit-mp", MFD_CLOEXEC), HIGH);
  if (fd < 0) return -1;
  err = mp_write(fd, text, len);
  if (err == 0 && lseek(fd, 0, SEEK_SET) == 0) return fd;
  close(fd);
  errno = err;
  return -1;
}

static int open_null(int *fd)
{
  *fd = mp_fd_from(open("/dev/null", O_WRONLY | O_CLOEXEC), HIGH);
  return *fd < 0 ? errno : 0;
}

static int high_pipe(int fds[2])
{
  int i, low[2];
  if (pipe2(low, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  for (i = 0; i < 2; i++) fds[i] = mp_fd_from(low[i], HIGH);
  if (fds[0] >= 0 && fds[1] >= 0) return 0;
  if (fds[0] >= 0) close(fds[0]);
  if (fds[1] >= 0) close(fds[1]);
  return EMFILE;
}

/* Opens the parts of the text for a launch: 0 is the first, then come 3, 4 and
** so on. Returns 0 or an errno value. */
static int open_parts(mp_launch *l, const char *text, size_t len)
{
  const char *line = text, *part = memchr(text, '\n', len);
  size_t rest;
  int n = 0;
  if (part == NULL) return EINVAL;
  rest = len - (size_t)(++part - text);
  while (*line != '\n') {
    char *end;
    size_t size = strtoul(line, &end, 10);
    int fd;
    if (end == line || size > rest || n == MP_PUSH_PARTS) return EINVAL;
    fd = memory_file(part, size);
    if (fd < 0) return errno;
    if (n == 0) l->fds[0] = fd;
    else l->fds[l->nfds++] = fd;
    n++;
    part += size;
    rest -= size;
    line = *end == ' ' ? end + 1 : end;
  }
  return n > 0 ? 0 : EINVAL;
}

int mp_push_start(mp_push *p, const char *text, size_t len)
{
  char *const argv[] = { (char *)"curl", (char *)"-q", (char *)"-K",
    (char *)"-", NULL };
  mp_launch l = { p->curl, argv, { -1, -1, -1 }, 3, 0 };
  struct stat st;
  int i, err, ends[2] = { -1, -1 };
  if (len == 0) return 0;
  if ((err = high_pipe(ends)) != 0) return err;
  l.fds[1] = ends[1];
  err = open_null(&l.fds[2]);
  if (err == 0) err = open_parts(&l, text, len);
  if (err == 0) err = launch_orphan(&l);
  for (i = 0; i < l.nfds; i++)
    if (l.fds[i] >= 0) close(l.fds[i]);
  if (err == 0 && fstat(ends[0], &st) != 0) err = errno;
  if (err != 0) {
    close(ends[0]);
    return err;
  }
  p->fd = ends[0];
  p->dev = st.st_dev;
  p->ino = st.st_ino;
  p->owner = mp_process();
  p->pid = l.pid;
  p->len = 0;
  p->late = false;
  return 0;
}

/* -- The answer ---------------------------------------------------------- */

/* curl writes a line for each transfer: the server's status, or 000, and what
** went wrong. */
static mp_pushed understand(mp_push *p)
{
  char *line = p->answer, *end;
  p->answer[p->len] = '\0';
  if (p->len == 0) {
    snprintf(p->why, sizeof(p->why), "curl could not be run");
    return MP_PUSH_FAILED;
  }
  for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    if (line[0] == '2') continue;
    if (strncmp(line, "000", 3) != 0)
      snprintf(p->why, sizeof(p->why), "the server answers %.3s", line);
    else if (strlen(line) > 4)
      snprintf(p->why, sizeof(p->why), "%.180s", line + 4);
    else
      snprintf(p->why, sizeof(p->why), "the server cannot be reached");
    return MP_PUSH_FAILED;
  }
  return MP_PUSH_DONE;
}

/* Only our child is waited for: the first process of a container has
** orphans. */
static void reap(const mp_push *p)
{
  if (p->pid > 0 && p->owner == mp_process()) waitpid(p->pid, NULL, WNOHANG);
}

typedef enum drained { DRAINED_SOME, DRAINED_ALL, DRAINED_OTHER } drained;

/* Reads what there is of the answer. DRAINED_OTHER: the program has closed the
** pipe. */
static drained drain(mp_push *p)
{
  struct stat st;
  if (fstat(p->fd, &st) != 0 || st.st_dev != p->dev || st.st_ino != p->ino)
    return DRAINED_OTHER;
  for (;;) {
    size_t room = sizeof(p->answer) - 1 - p->len;
    char scrap[64];
    ssize_t n = room > 0 ? read(p->fd, p->answer + p->len, room) :
		read(p->fd, scrap, sizeof(scrap));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? DRAINED_SOME : DRAINED_ALL;
    if (room > 0) p->len += (size_t)n;
  }
}

mp_pushed mp_push_look(mp_push *p)
{
  if (p->fd < 0) return MP_PUSH_NONE;
  switch (drain(p)) {
  case DRAINED_SOME: return MP_PUSH_ON_ITS_WAY;
  case DRAINED_ALL: break;
  case DRAINED_OTHER:
    p->fd = -1;
    snprintf(p->why, sizeof(p->why), "the program closed our pipe");
    return MP_PUSH_FAILED;
  }
  mp_push_forget(p);
  reap(p);
  return understand(p);
}

/* -- An answer after the end ---------------------------------------------- */

#define PATIENCE 2.0	/* Seconds for an answer. */
#define LOST "cannot send to '%s', and the profile is lost: %s"

/* Reads curl's answer, whose beginning is known, and says what is wrong with
** it. */
static const char listener[] =
  "{ printf %s \"$2\"; cat; } | {\n"
  "answered= why=\n"
  "while read -r status words; do\n"
  "  answered=1\n"
  "  case $status in\n"
  "    2*) ;;\n"
  "    000) why=${words:-the server cannot be reached} ;;\n"
  "    *) why=\"the server answers $status\" ;;\n"
  "  esac\n"
  "done\n"
  "[ \"$answered\" ] || why='curl could not be run'\n"
  "[ ! \"$why\" ] ||\n"
  "  printf \"luajit-mp: " LOST "\\n\" \"$1\" \"$why\" >&2\n"
  "}\n";

/* Whoever reads a pipe or a socket to its end would wait for the answer. */
static bool may_speak(void)
{
  struct stat st;
  return fstat(STDERR_FILENO, &st) == 0 && !S_ISFIFO(st.st_mode) &&
	 !S_ISSOCK(st.st_mode);
}

void mp_push_await(mp_push *p)
{
  double until = mp_clock_wall() + PATIENCE, left;
  if (may_speak()) return;
  mp_write_begins_waiting();
  while (p->fd >= 0 && drain(p) == DRAINED_SOME &&
	 (left = until - mp_clock_wall()) > 0) {
    struct pollfd fd = { p->fd, POLLIN, 0 };
    poll(&fd, 1, (int)(left * 1000) + 1);
  }
  mp_write_ends_waiting();
  p->late = p->fd >= 0;
}

/* The program may end before the answer comes. */
static void listen_in_background(mp_push *p, const char *name)
{
  char *const argv[] = { (char *)"sh", (char *)"-c", (char *)listener,
    (char *)"luajit-mp", (char *)name, p->answer, NULL };
  mp_launch l = { "/bin/sh", argv, { p->fd, -1, -1 }, 3, 0 };
  int high = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH);
  l.fds[1] = l.fds[2] = high;
  if (high < 0) return;
  p->answer[p->len] = '\0';
  if (fcntl(p->fd, F_SETFL, 0) == 0) launch_orphan(&l);
  close(high);
}

void mp_push_leave(mp_push *p, const char *name)
{
  char text[sizeof(p->why) + 400];
  switch (mp_push_look(p)) {
  case MP_PUSH_ON_ITS_WAY:
    if (may_speak()) {
      listen_in_background(p, name);
    } else if (p->late) {
      snprintf(text, sizeof(text), "'%s' has not answered yet: the last part "
	       "of the profile may be lost", name);
      mp_say(text);
    }
    mp_push_forget(p);
    break;
  case MP_PUSH_FAILED:
    snprintf(text, sizeof(text), LOST, name, p->why);
    mp_say(text);
    break;
  case MP_PUSH_NONE: case MP_PUSH_DONE: break;
  }
}
