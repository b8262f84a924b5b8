/*
** See out/screen.h.
**
** The program's own output scrolls in the lower part of the screen only.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "out/screen.h"

#define PERIOD	1.0		/* Seconds from one drawing to the next. */
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

/* The descriptor may have been closed by the program, and be another file. */
static bool is_terminal(const mp_screen *s)
{
  return s->fd >= 0 && isatty(s->fd);
}

static bool get_size(mp_screen *s)
{
  struct winsize ws;
  if (ioctl(s->fd, TIOCGWINSZ, &ws) != 0 || ws.ws_row < ROWS_MIN) return false;
  s->rows = ws.ws_row;
  s->columns = ws.ws_col;
  return true;
}

void mp_screen_init(mp_screen *s)
{
  memset(s, 0, sizeof(*s));
  s->fd = -1;
}

int mp_screen_open(mp_screen *s)
{
  s->fd = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (s->fd < 0) return errno;
  if (!get_size(s)) {
    close(s->fd);
    s->fd = -1;
    return ENOTTY;
  }
  s->due = PERIOD;
  return 0;
}

/* Makes the lower part of the screen the one that scrolls. What is there moves
** up first, so that nothing is written over. */
static void divide(mp_screen *s)
{
  int i;
  for (i = 0; i < view_rows(s); i++) put(s, "\n", 1);
  putf(s, "\0337\033[%d;%dr\0338", view_rows(s) + 1, s->rows);
  putf(s, "\033[%d;%dH", s->rows, 1);
  s->divided = s->rows;
}

void mp_screen_draw(mp_screen *s, const char *text, size_t len)
{
  const char *end = text + len;
  int row;
  if (s->divided != s->rows) divide(s);
  put(s, "\0337", 2);
  for (row = 1; row <= view_rows(s); row++) {
    const char *nl = memchr(text, '\n', (size_t)(end - text));
    const char *stop = nl ? nl : end;
    if (stop - text > s->columns) stop = text + s->columns;
    putf(s, "\033[%d;%dH\033[2K", row, 1);
    if (row == view_rows(s))
      put(s, "\033[2m--\033[0m", 10);
    else
      put(s, text, (size_t)(stop - text));
    text = nl ? nl + 1 : end;
  }
  put(s, "\0338", 2);
}

void mp_screen_close(mp_screen *s)
{
  if (is_terminal(s)) {
    if (s->divided) putf(s, "\033[r\033[%d;%dH\n", s->rows, 1);
    close(s->fd);
  }
  s->fd = -1;
  s->divided = 0;
}

bool mp_screen_due(mp_screen *s, double wall)
{
  if (s->fd < 0 || wall < s->due || !is_terminal(s) || !get_size(s))
    return false;
  s->due = wall + PERIOD;
  return true;
}
