/* SPDX-License-Identifier: MIT */
/*
** See report/write.h.
*/
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "report/write.h"

#define SAYS	"luajit-mp: "
#include "data/process.h"
#define HURRY	5.0		/* Seconds for a reader after a signal. */

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
static double patience;

void mp_write_bound(bool (*asked)(void), double seconds)
{
  is_asked = asked;
  patience = seconds;
}

bool mp_write_deserted(double since)
{
  return is_asked != NULL &&
	 mp_clock_wall() - since > (is_asked() ? HURRY : patience);
}

/* The same for a reader that has come. */
static bool is_stalled(double since)
{
  return is_asked != NULL && is_asked() && mp_clock_wall() - since > HURRY;
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

static int write_all(int fd, const char *p, size_t n, bool bounded)
{
  double since = mp_clock_wall();
  while (n > 0) {
    ssize_t w = write(fd, p, n);
    if (w >= 0) {
      since = mp_clock_wall();
      p += w;
      n -= (size_t)w;
    } else if (errno == EAGAIN) {
      struct pollfd pf = { .fd = fd, .events = POLLOUT };
      if (bounded && is_stalled(since)) return ETIMEDOUT;
      poll(&pf, 1, 1000);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

static int guarded(int fd, const char *text, size_t len, bool bounded)
{
  guard g;
  int err;
  hold_signals(&g);
  mp_write_begins_waiting();
  err = write_all(fd, text, len, bounded);
  mp_write_ends_waiting();
  release_signals(&g, err);
  return err;
}

int mp_write(int fd, const char *text, size_t len)
{
  return guarded(fd, text, len, false);
}

int mp_write_fifo(int fd, const char *text, size_t len)
{
  return guarded(fd, text, len, true);
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

void mp_write_stdout_first(void)
{
  guard g;
  int err;
  if (left || ftrylockfile(stdout) != 0) return;
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
