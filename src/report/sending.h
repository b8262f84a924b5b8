/* SPDX-License-Identifier: MIT */
/*
** The windows of a profile that are sent to a server: at most one is on its
** way, and the next one begins where the last window that the server accepted
** ends. So nothing queues up while the server is away: the window grows, and is
** sent when the server is back. The time between tries that fail doubles, up to
** five minutes.
*/
#ifndef MP_SENDING_H
#define MP_SENDING_H

#include <stdbool.h>

#include "profile/moment.h"
#include "report/push.h"

typedef struct mp_sending {
  mp_moment from;		/* The server has all up to here. */
  mp_moment to;			/* All up to here is on its way. */
  double due;			/* Not before that, in seconds of the run. */
  int failures;			/* Tries since the last that succeeded. */
} mp_sending;

/* Checks whether the last window has arrived. Returns whether the next one may
** be sent: not while one is on its way, nor before it is due. */
bool mp_sending_look(mp_sending *s, mp_push *p, double now, int every);

/* The same when there is no time left to wait: a window on its way counts as
** arrived. */
void mp_sending_settle(mp_sending *s, mp_push *p, int every);

/* The window ends here. False: no memory. */
bool mp_sending_end(mp_sending *s, mp_profile *p);

/* The window could not be sent. */
void mp_sending_fail(mp_sending *s, double now, int every);

/* Frees the memory; the structure is empty and usable again. */
void mp_sending_free(mp_sending *s);

#endif
