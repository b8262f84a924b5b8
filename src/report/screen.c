/* SPDX-License-Identifier: MIT */
/*
** See report/screen.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "data/fd.h"
#include "report/screen.h"

/* -- Keys ----------------------------------------------------------------- */

/*
** Keys that are pressed while a live view is shown.
**
** The profiled program owns its terminal: keys are taken only where nobody else
** can be waiting for them. All of these must hold:
** - Standard input is not a terminal, so keys are not the program's input.
** - The process leads the process group in the foreground, as the first command
**   of a job in a shell does: the terminal is not the input of another command
**   of a pipeline, nor of the script that runs the program.
** - The terminal has its ordinary modes, line by line and with echo: a program
**   that opens the terminal for keys or for a password changes them.
**
** Between two looks for keys the terminal keeps these modes, so that there is
** nothing to restore, however the program ends, stops or forks.
*/

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

/* Stores the keys that were pressed since the last look, or since the process
** got the terminal, and returns their number; -1: they are not ours. Does not
** wait. Not in a signal handler. With all signals blocked: none comes in
** between, and none stops a process that has just lost the foreground. */
static int keys_take(char keys[MP_KEYS_MAX])
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

/* -- The terminal --------------------------------------------------------- */

#define PERIOD	1.0		/* Seconds from one drawing to the next, */
#define STEP	0.1		/* and from one look for keys to the next. */
#define ROWS_MIN 8		/* A terminal must have that many lines. */

/* Lines of the terminal that the view may have. */
static int view_rows(const mp_screen *s)
{
  return s->rows * 2 / 3;
}

static void put(const mp_screen *s, const char *text, size_t n)
{
  while (n > 0) {
    ssize_t w = write(s->fd, text, n);
    if (w < 0 && errno != EINTR) return;
    if (w > 0) {
      text += w;
      n -= (size_t)w;
    }
  }
}

static void putf(const mp_screen *s, const char *format, int a, int b)
{
  char buf[64];
  snprintf(buf, sizeof(buf), format, a, b);
  put(s, buf, strlen(buf));
}

/* Whether the descriptor is still a terminal: the program may have closed it
** and opened another file. */
static bool is_terminal(const mp_screen *s)
{
  return s->fd >= 0 && isatty(s->fd);
}

static void get_size(mp_screen *s)
{
  struct winsize ws;
  const char *term = getenv("TERM");
  if (ioctl(s->fd, TIOCGWINSZ, &ws) != 0) ws.ws_row = ws.ws_col = 0;
  s->rows = ws.ws_row;
  s->columns = ws.ws_col;
  s->plain = ws.ws_row < ROWS_MIN || ws.ws_col == 0 || term == NULL ||
	     *term == '\0' || strcmp(term, "dumb") == 0;
}

void mp_screen_init(mp_screen *s)
{
  memset(s, 0, sizeof(*s));
  s->fd = -1;
  s->nkeys = -1;
}

int mp_screen_open(mp_screen *s)
{
  const char *no_color = getenv("NO_COLOR");
  s->fd = mp_fd_high(open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (s->fd < 0) return errno;
  get_size(s);
  s->dim = no_color == NULL || *no_color == '\0';
  s->due = PERIOD;
  s->nkeys = keys_take(s->keys);
  s->redirected = !isatty(STDIN_FILENO);
  return 0;
}

/* Makes only the lower part of the screen scroll. Text in the upper part moves
** up first, so that nothing is overwritten; after a change of the size all text
** moves, including the view that was drawn for the old size. */
static void divide(mp_screen *s)
{
  int lines = s->divided ? s->rows : view_rows(s), i;
  if (s->divided) putf(s, "\033[r\033[%d;%dH", s->rows, 1);
  for (i = 0; i < lines; i++) put(s, "\n", 1);
  putf(s, "\0337\033[%d;%dr\0338", view_rows(s) + 1, s->rows);
  putf(s, "\033[%d;%dH", s->rows, 1);
  s->divided = s->rows;
  s->divided_columns = s->columns;
}

/* The end of that many characters of UTF-8, or of the line. Sequences for bold
** text take no column. */
static const char *cut(const char *text, const char *end, int columns)
{
  while (text < end && (columns > 0 || *text == '\033')) {
    if (*text == '\033') {
      while (text < end && *text++ != 'm') ;
      continue;
    }
    columns--;
    text++;
    while (text < end && (*text & 0xc0) == 0x80) text++;
  }
  return text;
}

static void draw_row(const mp_screen *s, int row, const char *text,
		     const char *end)
{
  putf(s, "\033[%d;%dH\033[2K", row, 1);
  put(s, text, (size_t)(cut(text, end, s->columns) - text));
}

/* The last line of the view. */
static void draw_below(const mp_screen *s, const char *below)
{
  char line[128];
  snprintf(line, sizeof(line), "-- %s", below != NULL ? below : "");
  if (s->dim) put(s, "\033[2m", 4);
  draw_row(s, view_rows(s), line, line + strlen(line));
  if (s->dim) put(s, "\033[0m", 4);
}

/* Lets the whole screen scroll again. */
static void undivide(mp_screen *s)
{
  if (s->divided) putf(s, "\033[r\033[%d;%dH\n", s->rows, 1);
  s->divided = 0;
}

static void draw_plain(mp_screen *s, const char *text, size_t len,
		       const char *below)
{
  undivide(s);
  put(s, text, len);
  if (below != NULL) {
    put(s, "-- ", 3);
    put(s, below, strlen(below));
    put(s, "\n", 1);
  }
  put(s, "\n", 1);
}

static void draw_divided(mp_screen *s, const char *text, size_t len,
			 const char *below)
{
  const char *end = text + len;
  int row;
  if (s->divided != s->rows || s->divided_columns != s->columns) divide(s);
  put(s, "\0337", 2);
  for (row = 1; row < view_rows(s); row++) {
    const char *nl = memchr(text, '\n', (size_t)(end - text));
    draw_row(s, row, text, nl ? nl : end);
    text = nl ? nl + 1 : end;
  }
  draw_below(s, below);
  put(s, "\0338", 2);
}

void mp_screen_draw(mp_screen *s, const char *text, size_t len,
		    const char *below)
{
  if (s->plain) draw_plain(s, text, len, below);
  else draw_divided(s, text, len, below);
  if (s->nkeys > 0) s->nkeys = 0;
}

void mp_screen_close(mp_screen *s)
{
  if (is_terminal(s)) {
    undivide(s);
    close(s->fd);
  }
  s->fd = -1;
  s->divided = 0;
}

void mp_screen_look(mp_screen *s, double wall)
{
  char keys[MP_KEYS_MAX];
  int n, had = s->nkeys;
  if (s->fd < 0 || wall < s->look || !is_terminal(s)) return;
  s->look = wall + STEP;
  n = keys_take(keys);
  if (n > 0 && memchr(keys, 'q', (size_t)n) != NULL) {
    mp_screen_close(s);
    return;
  }
  s->redirected = !isatty(STDIN_FILENO);
  s->nkeys = n;
  if (n > 0) memcpy(s->keys, keys, (size_t)n);
  if (n > 0 || (n < 0) != (had < 0)) s->due = wall;
}

bool mp_screen_due(mp_screen *s, double wall)
{
  if (s->fd < 0 || wall < s->due || !is_terminal(s)) return false;
  get_size(s);
  s->due = wall + PERIOD;
  return true;
}
