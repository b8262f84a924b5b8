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

/* The same for a reader that has come. */
static bool is_stalled(double since)
{
  return is_asked != NULL && is_asked() && mp_clock_wall() - since > HURRY;
}

static bool is_pipe(int fd)
{
  struct stat st;
  return is_asked != NULL && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Waits until a pipe takes PIPE_BUF bytes at once, or has no reader any more.
** False: nobody reads. */
static bool await_room(int fd, double since)
{
  struct pollfd pf = { .fd = fd, .events = POLLOUT };
  int n;
  while ((n = poll(&pf, 1, STEP)) == 0 || (n < 0 && errno == EINTR))
    if (is_stalled(since)) return false;
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

/* A pipe is waited for before each write: a call that has begun to wait could
** wait for ever. */
static int write_all(int fd, const char *p, size_t n)
{
  size_t most = is_pipe(fd) ? PIPE_BUF : SSIZE_MAX;
  double since = mp_clock_wall();
  while (n > 0) {
    ssize_t w;
    if (most == PIPE_BUF && !await_room(fd, since)) return ETIMEDOUT;
    w = write(fd, p, n < most ? n : most);
    if (w >= 0) {
      since = mp_clock_wall();
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
  return __fpending(stdout) == 0 || fd < 0 || !is_pipe(fd) ||
	 await_room(fd, mp_clock_wall());
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
