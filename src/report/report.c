/* SPDX-License-Identifier: MIT */
/*
** See report/report.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/lock.h"
#include "profile/snapshot.h"
#include "report/report.h"
#include "report/together.h"
#include "report/write.h"

#include "lauxlib.h"

/* One report, for the protected calls below. */
typedef struct request {
  mp_report *r;
  const mp_plan *plan;
  mp_output *out;		/* The output, or NULL. */
  mp_screen *screen;		/* The screen, or NULL. */
  const mp_moment *from, *to;	/* As in mp_snapshot. */
  bool patient;			/* The last try to send it to a server. */
  bool final;			/* The profile has ended. */
  char *buf;			/* For a message. */
  size_t n;
  double *leaked;		/* Raised to the bytes that leak. */
  int locks;			/* How often the lock is held. */
  int err;
} request;

static void lock(request *rq)
{
  rq->locks++;
  mp_lock();
}

static void unlock(request *rq)
{
  mp_unlock();
  rq->locks--;
}

/* Under the lock: another thread may run the VM, and move the arrays. */
static void push_snapshot(lua_State *R, request *rq)
{
  const mp_scope scope = {
    rq->from, rq->to != NULL ? rq->to : rq->r->at, rq->to != NULL, rq->r->walk,
    rq->r->event, rq->r->base
  };
  if (rq->plan->help) {
    lua_pushnil(R);
    return;
  }
  lock(rq);
  mp_snapshot(R, rq->r->profile, &scope);
  unlock(rq);
}

/* Makes the message: the verb with the name of the output, or else those
** words. */
static void explain(request *rq, const char *verb, const char *otherwise,
		    const char *why)
{
  const char *name = rq->out != NULL ? rq->out->given : NULL;
  char shown[MP_NAME_SIZE];
  if (name == NULL)
    snprintf(rq->buf, rq->n, "cannot %s %s: %s", verb, otherwise, why);
  else
    snprintf(rq->buf, rq->n, "cannot %s '%s': %s", verb,
	     mp_output_name(shown, name), why);
}

/* Pushes the sum that the profile is to be added to, or nil; for other outputs
** false. */
static void push_sum(lua_State *R, const request *rq)
{
  const char *sum = NULL;
  size_t len;
  if (rq->out == NULL || !rq->out->together || rq->plan->help) {
    lua_pushboolean(R, 0);
    return;
  }
  sum = mp_together_get(rq->out->given, &len);
  if (sum != NULL) lua_pushlstring(R, sum, len);
  else lua_pushnil(R);
}

/* Whether the report takes the place of another one of the same program. */
static bool replaces(const request *rq)
{
  size_t len;
  return rq->final && rq->out != NULL &&
    !(rq->out->together && mp_together_get(rq->out->given, &len) != NULL) &&
    mp_output_replaces(rq->out);
}

/* Leaves the text, nil or a message, the bytes that leak or nil, a remark or
** nil, and the new sum or nil on the stack. False: there is no text. */
static bool push_report(lua_State *R, request *rq, const char *name,
			int columns)
{
  double leaked;
  mp_state_push(R, "report");
  mp_plan_push(R, rq->plan);
  push_snapshot(R, rq);
  lua_pushstring(R, name);
  if (columns > 0) lua_pushinteger(R, columns);
  else lua_pushnil(R);
  lua_pushboolean(R, rq->patient);
  push_sum(R, rq);
  lua_pushboolean(R, replaces(rq));
  lua_call(R, 7, 5);
  leaked = lua_tonumber(R, -3);
  if (leaked > *rq->leaked) *rq->leaked = leaked;
  if (lua_type(R, -5) == LUA_TSTRING) return true;
  rq->err = MP_FAILED;
  explain(rq, "make", "the report", lua_isstring(R, -4) ?
	  lua_tostring(R, -4) : "it is empty");
  return false;
}

/* The profile has ended, and is in the sum from now on. */
static void keep_sum(lua_State *R, const request *rq)
{
  size_t len;
  const char *sum = lua_tolstring(R, -1, &len);
  if (rq->final && sum != NULL && !mp_together_set(rq->out->given, sum, len))
    luaL_error(R, "not enough memory");
}

/* Whether the reader of standard output has gone, as head does, and the program
** may die of that: then this is no error, as with luajit-mp report. */
static bool is_left(const mp_output *out, int err)
{
  struct sigaction sa;
  return err == EPIPE && out->path == NULL && out->push == NULL &&
	 out->writer.write == NULL && sigaction(SIGPIPE, NULL, &sa) == 0 &&
	 sa.sa_handler != SIG_IGN;
}

static int write_report(lua_State *R)
{
  request *rq = mp_state_argument(R);
  mp_output *out = rq->out;
  const char *text;
  size_t len;
  if (out->together) lock(rq);  /* One state at a time adds its own. */
  if (!push_report(R, rq, out->given ? out->given : "-", mp_output_width(out)))
    return 0;
  text = lua_tolstring(R, -5, &len);
  rq->err = mp_output_write(out, text, len);
  if (is_left(out, rq->err)) rq->err = 0;
  if (rq->err != 0)
    explain(rq, out->push != NULL ? "send to" : "write", "to standard output",
	    mp_output_error(rq->err));
  else if (lua_isstring(R, -2))
    mp_say(lua_tostring(R, -2));
  keep_sum(R, rq);
  return 0;
}

static int draw_report(lua_State *R)
{
  request *rq = mp_state_argument(R);
  mp_screen *s = rq->screen;
  const char *text;
  size_t len;
  mp_state_push(R, "live");
  mp_plan_push(R, rq->plan);
  push_snapshot(R, rq);
  if (s->columns > 0) lua_pushinteger(R, s->columns);
  else lua_pushnil(R);
  lua_pushboolean(R, s->plain);
  if (s->nkeys >= 0) lua_pushlstring(R, s->keys, (size_t)s->nkeys);
  else lua_pushnil(R);
  lua_pushboolean(R, s->redirected);
  lua_call(R, 6, 2);
  text = lua_tolstring(R, -2, &len);
  mp_screen_draw(s, text, len, lua_tostring(R, -1));
  return 0;
}

static int note_vm(lua_State *R)
{
  mp_report *r = mp_state_argument(R);
  mp_origin_set_vm(&r->profile->origin, R);
  return 0;
}

/* A state that was opened before it is needed. */
typedef struct ahead {
  mp_state *state;
  char *path;
} ahead;

static ahead *_Atomic prepared;

static int open_state(mp_state **s, const char *path, char *buf, size_t n)
{
  static const lua_CFunction functions[] = {
    mp_plan_in_make, mp_plan_in_drop, write_report, draw_report, note_vm, NULL
  };
  return mp_state_open(s, path, functions, buf, n);
}

static void drop(ahead *a)
{
  if (a == NULL) return;
  mp_state_close(a->state);
  free(a->path);
  free(a);
}

void mp_report_prepare(const char *path)
{
  ahead *a = calloc(1, sizeof(*a));
  char msg[256];
  if (a == NULL) return;
  a->path = strdup(path);
  if (a->path != NULL && open_state(&a->state, path, msg, sizeof(msg)) == 0)
    a = atomic_exchange(&prepared, a);
  drop(a);
}

/* The state that was prepared for that path, or NULL. */
static mp_state *take_prepared(const char *path)
{
  ahead *a = atomic_exchange(&prepared, NULL);
  mp_state *s = NULL;
  if (a != NULL && strcmp(a->path, path) == 0) {
    s = a->state;
    a->state = NULL;
  }
  drop(a);
  return s;
}

int mp_report_open(mp_report *r, mp_profile *p, const char *path, char *buf,
		   size_t n)
{
  int err = 0;
  r->state = take_prepared(path);
  if (r->state == NULL) err = open_state(&r->state, path, buf, n);
  r->profile = p;
  r->from = r->to = NULL;
  r->at = NULL;
  r->walk = NULL;
  r->event = NULL;
  r->base = NULL;
  if (err == 0 && !mp_state_call(r->state, note_vm, r, buf, n)) err = ENOMEM;
  return err;
}

void mp_report_close(mp_report *r) { mp_state_close(r->state); }

#define LIMIT_MIN 16777216.0

double mp_report_limit(const mp_plan *plan)
{
  return plan->limit * 2 < LIMIT_MIN ? LIMIT_MIN : plan->limit * 2;
}

/* Calls one of these functions. Returns as mp_report_write. */
static int make(request *rq, lua_CFunction f)
{
  char msg[256];
  bool ok;
  mp_state_limit(rq->r->state, (size_t)mp_report_limit(rq->plan));
  ok = mp_state_call(rq->r->state, f, rq, msg, sizeof(msg));
  mp_state_limit(rq->r->state, 0);
  while (rq->locks > 0) unlock(rq);
  if (ok) return rq->err;
  explain(rq, "make", "the report", msg);
  return MP_FAILED;
}

static request new_request(mp_report *r, const mp_plan *plan, mp_output *out,
			   char *buf, size_t n, double *leaked)
{
  request rq;
  memset(&rq, 0, sizeof(rq));
  rq.r = r;
  rq.plan = plan;
  rq.out = out;
  rq.from = r->from;
  rq.to = r->to;
  rq.buf = buf;
  rq.n = n;
  rq.leaked = leaked;
  return rq;
}

/* -- Servers -------------------------------------------------------------- */

/* Sends the window that has to be sent, up to now. */
static int send_window(request *rq, mp_sending *s)
{
  double now = mp_span_wall(&rq->r->profile->span);
  bool ok;
  int err;
  mp_lock();
  ok = mp_sending_end(s, rq->r->profile);
  mp_unlock();
  rq->from = &s->from;
  rq->to = &s->to;
  err = ok ? make(rq, write_report) : ENOMEM;
  if (!ok) explain(rq, "send", "the report", strerror(err));
  if (err != 0) mp_sending_fail(s, now, rq->plan->every);
  return err;
}

/* Sends the window to a server if it is time for that. */
static int send_if_due(request *rq, mp_sending *s)
{
  double now = mp_span_wall(&rq->r->profile->span);
  if (!mp_sending_look(s, rq->out->push, now, rq->plan->every)) return 0;
  return send_window(rq, s);
}

/* Sends everything that a server has not received yet, unless this report is a
** window with a start of its own. */
static int send_rest(request *rq, mp_sending *s)
{
  char text[MP_NAME_SIZE + 400], shown[MP_NAME_SIZE];
  rq->patient = true;
  if (rq->to != NULL) return make(rq, write_report);
  mp_sending_settle(s, rq->out->push, rq->plan->every);
  if (s->failures > 0) {
    snprintf(text, sizeof(text), "cannot send to '%s': %s; the rest is sent "
	     "once more, in the background",
	     mp_output_name(shown, rq->out->given), rq->out->push->why);
    mp_say(text);
  }
  return send_window(rq, s);
}

/* -- All outputs ---------------------------------------------------------- */

/* final: the profile has ended, and there is time to see what servers say. */
static int write_all(mp_report *r, const mp_plan *plan, bool final,
		     double *leaked, char *buf, size_t n)
{
  char msg[512];
  int i, e, err = 0;
  *leaked = 0;
  if (!mp_state_take(r->state, buf, n)) return EBUSY;
  for (i = 0; i < plan->nouts; i++) {
    mp_output *out = &plan->outs[i];
    request rq = new_request(r, plan, out, msg, sizeof(msg), leaked);
    rq.final = final;
    if (final) mp_output_await(out);
    e = out->push != NULL && !plan->help ?
	send_rest(&rq, &plan->sendings[i]) : make(&rq, write_report);
    if (final) mp_output_await(out);
    mp_output_leave(out);
    if (e == 0) continue;
    if (err != 0) mp_say(msg);
    else snprintf(buf, n, "%s", msg);
    if (err == 0) err = e;
  }
  mp_state_give_back(r->state);
  return err;
}

int mp_report_write(mp_report *r, const mp_plan *plan, double *leaked,
		    char *buf, size_t n)
{
  return write_all(r, plan, false, leaked, buf, n);
}

int mp_report_finish(mp_report *r, const mp_plan *plan, double *leaked,
		     char *buf, size_t n)
{
  return write_all(r, plan, true, leaked, buf, n);
}

int mp_report_event(mp_report *r, const mp_plan *plan, const char *event,
		    char *buf, size_t n)
{
  double leaked = 0;
  int i, err = 0;
  if (!mp_state_take(r->state, buf, n)) return EBUSY;
  for (i = 0; i < plan->nouts; i++) {
    mp_output *out = &plan->outs[i];
    request rq = new_request(r, plan, out, buf, n, &leaked);
    int e;
    if (!mp_output_perevent(out)) continue;
    mp_output_event(out, event);
    e = make(&rq, write_report);
    mp_output_event(out, "");
    if (err == 0) err = e;
  }
  mp_state_give_back(r->state);
  return err;
}

int mp_report_rewrite(mp_report *r, const mp_plan *plan, char *buf, size_t n)
{
  double leaked = 0;
  int i, err = 0;
  if (!mp_state_take(r->state, buf, n)) return EBUSY;
  for (i = 0; i < plan->nouts; i++) {
    mp_output *out = &plan->outs[i];
    request rq = new_request(r, plan, out, buf, n, &leaked);
    int e = 0;
    if (out->push != NULL) e = send_if_due(&rq, &plan->sendings[i]);
    else if (mp_output_is_file(out)) e = make(&rq, write_report);
    if (err == 0) err = e;
  }
  mp_state_give_back(r->state);
  return err;
}

void mp_report_draw(mp_report *r, const mp_plan *plan, mp_screen *s)
{
  double leaked = 0;
  char buf[256];
  request rq = new_request(r, plan, NULL, buf, sizeof(buf), &leaked);
  rq.screen = s;
  if (!mp_state_take(r->state, buf, sizeof(buf))) return;
  if (make(&rq, draw_report) != 0) mp_screen_draw(s, buf, strlen(buf), NULL);
  mp_state_give_back(r->state);
}
