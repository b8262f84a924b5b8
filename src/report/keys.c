/* SPDX-License-Identifier: MIT */
/*
** See report/keys.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <termios.h>
#include <unistd.h>

#include "report/keys.h"

static bool leads_foreground(int fd)
{
  return getpgrp() == getpid() && tcgetpgrp(fd) == getpgrp();
}

static bool is_ordinary(const struct termios *modes)
{
  return (modes->c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

/* Reads what was typed so far, although no line is complete: this needs other
** modes for a moment. Another process may set its own in that moment, so the
** descriptor does not block. */
static int read_at_once(int fd, const struct termios *modes, char *keys)
{
  struct termios now = *modes;
  ssize_t n;
  now.c_lflag &= ~(tcflag_t)ICANON;
  now.c_cc[VMIN] = now.c_cc[VTIME] = 0;
  if (tcsetattr(fd, TCSANOW, &now) != 0) return -1;
  n = read(fd, keys, MP_KEYS_MAX);
  tcsetattr(fd, TCSANOW, modes);
  return n > 0 ? (int)n : 0;
}

/* With all signals blocked: none comes in between, and none stops a process
** that has just lost the foreground. */
int mp_keys_take(char keys[MP_KEYS_MAX])
{
  int fd, n = -1, saved = errno;
  struct termios modes;
  sigset_t all, old;
  if (isatty(STDIN_FILENO)) return -1;
  fd = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) {
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (leads_foreground(fd) && tcgetattr(fd, &modes) == 0 &&
	is_ordinary(&modes))
      n = read_at_once(fd, &modes, keys);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(fd);
  }
  errno = saved;
  return n;
}
