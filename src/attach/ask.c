/* SPDX-License-Identifier: MIT */
/*
** Start and stop of a session: see attach/session.h.
*/
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "attach/look.h"
#include "attach/receive.h"
#include "attach/room.h"
#include "attach/session.h"
#include "attach/visit.h"
#include "data/clock.h"

#define STEP_MIN 0.002		/* Seconds between two visits, at first, */
#define STEP_MAX 0.1		/* and at most. */
#define LAST	5.0		/* For a last attempt. */
#define IDLE	1.0		/* Seconds without any Lua code. */

static const volatile int never = 0;

static bool fails(mp_session *s, const char *msg)
{
  snprintf(s->msg, sizeof(s->msg), "%s", msg);
  return false;
}

/* The time until the next visit. */
static double next_step(double step)
{
  return step * 1.5 < STEP_MAX ? step * 1.5 : STEP_MAX;
}

/* Whether the request has been done. After a stop the profile is still to be
** written. */
static bool is_done(const mp_session *s, const mp_attach_call *call)
{
  if (call->request == MP_REQUEST_PREPARE) return !s->answer.preparing;
  return s->answer.open == 0 && s->answer.phase != MP_ATTACH_NOTHING &&
	 (call->request == MP_REQUEST_START ||
	  s->answer.phase != MP_ATTACH_RUNNING);
}

/* Whether the request waits for a place where it can be done. One that is being
** done would only be held up by a visit. */
static bool is_open(const mp_session *s)
{
  return s->answer.open != 0 && !s->answer.performing;
}

/* Whether no Lua code runs, and none has since. */
static bool is_idle(const mp_session *s, double *since)
{
  double now = mp_clock_wall();
  if (*since == 0 || mp_find_compiled(s->pid, s->state) ||
      s->kind->cframe(s->pid, s->state) != 0)
    *since = now;
  return now > *since + IDLE;
}

/* Visits the process until the request is done; one to stop, as long as Lua
** code runs. *answered: whether it was. */
static mp_visited ask(mp_session *s, const mp_attach_call *call, double seconds,
		      const volatile int *end, bool *answered)
{
  double until = mp_clock_wall() + seconds, step = STEP_MIN, placed = 0;
  double idle = 0;
  *answered = false;
  while (!*end && mp_clock_wall() < until) {
    double pause = mp_clock_wall() + step;
    mp_visited v = MP_VISITED;
    if (placed == 0 || !mp_visit_read(s) || is_open(s))
      v = mp_visit(s, call, &placed);
    if (mp_session_poor(s)) return MP_VISIT_FAILED;
    if (v != MP_VISITED) return v;
    if (call->request == MP_REQUEST_STOP && placed > 0 && is_idle(s, &idle))
      break;
    do {
      *answered = placed > 0 && mp_visit_read(s) && is_done(s, call);
      if (*answered) return MP_VISITED;
      if (!mp_session_wait(s, STEP_MIN, end)) return MP_VISIT_GONE;
    } while (!*end && mp_clock_wall() < pause);
    step = next_step(step);
  }
  return MP_VISITED;
}

/* The VM has not reached the start: withdraws the request, if need be without a
** visit. False: it was too late, and the profile runs. */
static bool take_back(mp_session *s, const mp_attach_call *call)
{
  double until = mp_clock_wall() + LAST, placed = 0;
  mp_attach_call none = *call;
  none.request = MP_REQUEST_NONE;
  if (!s->asked) return true;
  do {
    if (placed == 0 && mp_visit(s, &none, &placed) != MP_VISITED) break;
    if (placed > 0 && mp_visit_read(s) && s->answer.open != MP_REQUEST_START)
      return s->answer.phase != MP_ATTACH_RUNNING;
  } while (mp_session_wait(s, STEP_MIN, &never) && mp_clock_wall() < until);
  until = mp_clock_wall() + LAST;
  while (!mp_visit_withdraw(s) && mp_clock_wall() < until)
    if (!mp_session_wait(s, STEP_MIN, &never)) break;
  return s->answer.phase != MP_ATTACH_RUNNING;
}

static bool not_reached(mp_session *s)
{
  if (s->tracer != 0) {
    mp_look_traced(s->pid, s->tracer, s->msg, sizeof(s->msg));
    return false;
  }
  if (!s->asked)
    return fails(s, "no moment was found at which the profiler could be "
		 "loaded: the program was stopped, or in the C library, all "
		 "the time");
  if (mp_find_compiled(s->pid, s->state))
    return fails(s, "the program runs compiled code, and no place was reached "
		 "where it can be left");
  return fails(s, "the program did not run any Lua code that could be "
	       "interrupted: it sleeps or works in a C function that Lua has "
	       "called");
}

/* After a failure: leaves no request there, or profile, for lack of memory of
** our own. */
static bool give_up(mp_session *s, const mp_attach_call *call)
{
  char why[sizeof(s->msg)];
  if (!mp_session_poor(s)) return false;
  memcpy(why, s->msg, sizeof(why));
  if (!take_back(s, call)) mp_session_stop(s, LAST, &never);
  memcpy(s->msg, why, sizeof(why));
  return false;
}

bool mp_session_start(mp_session *s, int state, const char *options,
		      const char *path, double seconds,
		      const volatile int *end, bool *late)
{
  mp_attach_call call = { .version = MP_ATTACH_VERSION };
  bool answered;
  mp_visited v;
  s->place.end = end;
  s->state = &s->states[state];
  *late = false;
  if (strlen(options) >= sizeof(call.options) ||
      strlen(path) >= sizeof(call.path))
    return fails(s, "the options or the path of modules are too long");
  strcpy(call.options, options);
  strcpy(call.path, path);
  call.mainl = s->state->mainl;
  mp_visit_choose(s);
  call.request = MP_REQUEST_PREPARE;
  v = ask(s, &call, seconds, end, &answered);
  call.request = MP_REQUEST_START;
  if (v == MP_VISITED && answered)
    v = ask(s, &call, seconds, end, &answered);
  if (v == MP_VISIT_GONE) return fails(s, "the process has ended");
  if (v == MP_VISIT_FAILED) return give_up(s, &call);
  if (!answered && take_back(s, &call)) {
    *late = !*end && s->tracer == 0;
    return *end ? fails(s, "interrupted") : not_reached(s);
  }
  if (s->answer.phase != MP_ATTACH_RUNNING) return fails(s, s->answer.msg);
  s->fd = mp_receive(s->pidfd, s->pid, (int)s->answer.fd);
  if (s->fd >= 0) return true;
  mp_session_stop(s, LAST, &never);
  return fails(s, "its profile is not a file that luajit-mp reads");
}

bool mp_session_stop(mp_session *s, double seconds, const volatile int *end)
{
  mp_attach_call call = { .version = MP_ATTACH_VERSION };
  bool answered;
  mp_visited v;
  s->place.end = end;
  call.request = MP_REQUEST_STOP;
  call.mainl = s->state->mainl;
  mp_visit_choose(s);  /* It may be another thread by now. */
  mp_room_forget();
  v = ask(s, &call, seconds, end, &answered);
  if (v == MP_VISIT_FAILED && mp_session_poor(s)) {
    mp_room_forget();  /* There may be memory again: it must end. */
    v = ask(s, &call, seconds, end, &answered);
  }
  s->gone = v == MP_VISIT_GONE;
  if (s->gone) return true;
  if (v == MP_VISIT_FAILED) return false;
  if (answered)
    return s->answer.phase == MP_ATTACH_DONE || fails(s, s->answer.msg);
  s->partial = s->asked && mp_session_write(s, LAST, &never);
  return s->partial || not_reached(s);
}

bool mp_session_steady(mp_session *s)
{
  double until = mp_clock_wall() + LAST;
  if (!s->partial || !mp_visit_read(s) ||
      (s->answer.open == MP_REQUEST_STOP && !s->answer.performing))
    return true;
  do {
    if (s->answer.phase == MP_ATTACH_DONE) s->partial = false;
    if (!s->partial || !mp_session_wait(s, STEP_MIN, &never)) break;
  } while (mp_visit_read(s) && mp_clock_wall() < until);
  s->partial = false;
  return false;
}

bool mp_session_write(mp_session *s, double seconds, const volatile int *end)
{
  double until = mp_clock_wall() + seconds, placed = 0;
  mp_attach_call call = { .version = MP_ATTACH_VERSION };
  uint32_t before = s->answer.written;
  s->place.end = end;
  call.request = MP_REQUEST_WRITE;
  call.mainl = s->state->mainl;
  while (!*end && mp_clock_wall() < until) {
    mp_visited v = MP_VISITED;
    if (placed == 0) v = mp_visit(s, &call, &placed);
    if (v == MP_VISIT_GONE) return fails(s, "the process has ended");
    if (v == MP_VISIT_FAILED) return false;
    if (mp_visit_read(s) && s->answer.written != before) return true;
    if (!mp_session_wait(s, STEP_MIN, end))
      return fails(s, "the process has ended");
  }
  return fails(s, "the profile could not be written in time");
}
