/* SPDX-License-Identifier: MIT */
/*
** See report/write.h.
*/
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/process.h"
#include "report/write.h"

#define SAYS	"luajit-mp: "
#define PATIENCE 10.0		/* Seconds for a FIFO's reader to come, */
#define HURRY	5.0		/* and after a signal. */
#define STEP	100		/* Milliseconds between two looks at that. */

static volatile int *watched;

void mp_write_watch(volatile int *flag) { watched = flag; }

void mp_write_begins_waiting(void)
{
  if (watched != NULL) *watched = 1;
}

void mp_write_ends_waiting(void)
{
  if (watched != NULL) *watched = 0;
}

/* -- Readers that do not read --------------------------------------------- */

static bool (*is_asked)(void);	/* NULL: signals have their effect at once. */

void mp_write_bound(bool (*asked)(void)) { is_asked = asked; }

bool mp_write_deserted(double since)
{
  return is_asked != NULL &&
	 mp_clock_wall() - since > (is_asked() ? HURRY : PATIENCE);
}

/* A pipe or a stream socket, whose reader may never read; or anything else. */
typedef enum channel { NEITHER, A_PIPE, A_SOCKET } channel;

static channel channel_of(int fd)
{
  struct stat st;
  int type;
  socklen_t n = sizeof(type);
  if (is_asked == NULL || fstat(fd, &st) != 0) return NEITHER;
  if (S_ISFIFO(st.st_mode)) return A_PIPE;
  return S_ISSOCK(st.st_mode) &&
	 getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
	 type == SOCK_STREAM ? A_SOCKET : NEITHER;
}

/* Bytes that the reader has not read; less than 0: not known. */
static int unread(int fd, channel ch)
{
  int n;
  return ioctl(fd, ch == A_PIPE ? FIONREAD : TIOCOUTQ, &n) == 0 ? n : -1;
}

/* Waits until a pipe takes PIPE_BUF bytes at once, or a socket some, or there
** is no reader any more. False: a signal has come, and nobody has read anything
** for a while. */
static bool await_room(int fd, channel ch)
{
  struct pollfd pf = { .fd = fd, .events = POLLOUT };
  double since = 0;
  int n, left = -1;
  while ((n = poll(&pf, 1, STEP)) == 0 || (n < 0 && errno == EINTR)) {
    int before = left;
    if (!is_asked()) continue;
    left = unread(fd, ch);
    if (since == 0 || left != before) since = mp_clock_wall();
    else if (mp_clock_wall() - since > HURRY) return false;
  }
  return true;
}

/* -- Writing -------------------------------------------------------------- */

typedef struct guard {
  sigset_t old, before;		/* Mask, and what was pending already. */
} guard;

static void hold_signals(guard *g)
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigaddset(&set, SIGXFSZ);
  sigpending(&g->before);
  pthread_sigmask(SIG_BLOCK, &set, &g->old);
}

static int signal_of(int err) { return err == EPIPE ? SIGPIPE : SIGXFSZ; }

/* Consumes the signal that came with that error: it was sent to this thread. */
static void release_signals(const guard *g, int err)
{
  static const struct timespec now = { 0, 0 };
  sigset_t set;
  if ((err == EPIPE || err == EFBIG) &&
      !sigismember(&g->before, signal_of(err))) {
    sigemptyset(&set);
    sigaddset(&set, signal_of(err));
    sigtimedwait(&set, NULL, &now);
  }
  pthread_sigmask(SIG_SETMASK, &g->old, NULL);
}

static ssize_t write_some(int fd, channel ch, const char *p, size_t n)
{
  switch (ch) {
  case A_PIPE: return write(fd, p, n < PIPE_BUF ? n : PIPE_BUF);
  case A_SOCKET: return send(fd, p, n, MSG_DONTWAIT);
  default: return write(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
  }
}

/* Room is waited for before each write: a call that has begun to wait could
** wait for ever. */
static int write_all(int fd, const char *p, size_t n)
{
  const channel ch = channel_of(fd);
  while (n > 0) {
    ssize_t w;
    if (ch != NEITHER && !await_room(fd, ch)) return ETIMEDOUT;
    w = write_some(fd, ch, p, n);
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

int mp_write(int fd, const char *text, size_t len)
{
  guard g;
  int err;
  hold_signals(&g);
  mp_write_begins_waiting();
  err = write_all(fd, text, len);
  mp_write_ends_waiting();
  release_signals(&g, err);
  return err;
}

void mp_say(const char *text)
{
  char line[1024];
  size_t n = strlen(SAYS), len = strlen(text);
  if (len > sizeof(line) - n - 1) len = sizeof(line) - n - 1;
  memcpy(line, SAYS, n);
  memcpy(line + n, text, len);
  line[n + len] = '\n';
  mp_write(STDERR_FILENO, line, n + len + 1);
}

static atomic_int owed;	/* Signal that came of the program's output. */
static bool left;	/* That output is not ours to write. */

void mp_write_leave_stdout(void) { left = true; }

/* Whether the buffer can be written; it is locked. */
static bool takes_stdout(void)
{
  int fd = fileno(stdout);
  channel ch = __fpending(stdout) == 0 || fd < 0 ? NEITHER : channel_of(fd);
  return ch == NEITHER || await_room(fd, ch);
}

void mp_write_stdout_first(void)
{
  guard g;
  int err;
  if (left || ftrylockfile(stdout) != 0) return;
  if (!takes_stdout()) {
    funlockfile(stdout);
    return;
  }
  hold_signals(&g);
  err = fflush(stdout) != 0 ? errno : 0;
  release_signals(&g, err);
  if (err == EPIPE || err == EFBIG) owed = signal_of(err);
  funlockfile(stdout);
}

void mp_write_settle(void)
{
  int sig = atomic_exchange(&owed, 0);
  if (sig != 0) mp_process_raise(sig);
}
