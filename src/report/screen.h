/* SPDX-License-Identifier: MIT */
/*
** The terminal of the live view: its upper part is redrawn every second
** while the program goes on below it.
**
** A terminal that cannot do that (TERM is dumb or not set, or its size is not
** known or too small) gets the whole report every second instead, in between
** the program's output.
**
** Keys that are pressed are taken where they cannot be meant for the program.
*/
#ifndef MP_SCREEN_H
#define MP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#define MP_KEYS_MAX	16	/* Keys that one look takes, at most. */

typedef struct mp_screen {
  int fd;			/* Or -1. */
  int rows, columns;
  int divided;			/* Rows when it was divided, or 0. */
  int divided_columns;		/* Columns when it was divided. */
  bool plain;			/* Reports one after the other. */
  bool dim;			/* The line below the view is dimmed. */
  bool redirected;		/* Standard input is not a terminal. */
  char keys[MP_KEYS_MAX];	/* Pressed since the last drawing: `nkeys`; */
  int nkeys;			/* -1: keys are not taken. */
  double due;			/* When it is to be drawn: seconds. */
  double look;			/* When keys are to be looked for: seconds. */
} mp_screen;

/* A screen that is not open. */
void mp_screen_init(mp_screen *s);

/* Reads TERM and NO_COLOR. 0, or an errno value: there is no terminal. */
int mp_screen_open(mp_screen *s);

/* Takes the keys that were pressed, if it is time to look for them; q closes
** the screen. Not in a signal handler. */
void mp_screen_look(mp_screen *s, double wall);

/* Whether the view is to be drawn, `wall` seconds after the start. Looks at the
** size of the terminal. */
bool mp_screen_due(mp_screen *s, double wall);

/* Draws as many lines of the text, and as many characters of each, as there is
** room for, and that line, or NULL, below them. The keys count as seen. */
void mp_screen_draw(mp_screen *s, const char *text, size_t len,
		    const char *below);

/* Puts everything back. */
void mp_screen_close(mp_screen *s);

#endif
