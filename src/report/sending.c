/* SPDX-License-Identifier: MIT */
/*
** See report/sending.h.
*/
#include "config.h"

#include <string.h>

#include "report/sending.h"

#define LONGEST		300	/* Seconds between two tries. */

void mp_sending_fail(mp_sending *s, double now, int every)
{
  double wait = every > 0 ? every : 1;
  int i;
  for (i = 0; i < s->failures && wait < LONGEST; i++) wait *= 2;
  s->due = now + (wait < LONGEST || wait <= every ? wait : LONGEST);
  s->failures++;
  mp_moment_free(&s->to);
}

static void succeed(mp_sending *s)
{
  mp_moment_free(&s->from);
  s->from = s->to;
  memset(&s->to, 0, sizeof(s->to));
  s->failures = 0;
}

/* Notes the end of the last window's way. False: it is still on its way. */
static bool note_end(mp_sending *s, mp_push *p, double now, int every)
{
  switch (mp_push_look(p)) {
  case MP_PUSH_ON_ITS_WAY: return false;
  case MP_PUSH_DONE: succeed(s); break;
  case MP_PUSH_FAILED: mp_sending_fail(s, now, every); break;
  case MP_PUSH_NONE: break;
  }
  return true;
}

bool mp_sending_look(mp_sending *s, mp_push *p, double now, int every)
{
  return note_end(s, p, now, every) && now >= s->due;
}

void mp_sending_settle(mp_sending *s, mp_push *p, int every)
{
  if (!note_end(s, p, 0, every)) succeed(s);
}

bool mp_sending_end(mp_sending *s, mp_profile *p)
{
  mp_moment_free(&s->to);
  return mp_moment_take(&s->to, p);
}

void mp_sending_free(mp_sending *s)
{
  mp_moment_free(&s->from);
  mp_moment_free(&s->to);
  memset(s, 0, sizeof(*s));
}
