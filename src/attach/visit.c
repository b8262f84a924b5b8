/* SPDX-License-Identifier: MIT */
/*
** See attach/visit.h.
*/
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/frame.h"
#include "attach/look.h"
#include "attach/room.h"
#include "attach/visit.h"
#include "data/clock.h"

#define AREA	(1 << 20)	/* Bytes mapped there for the time of calls: */
				/* arguments at one end, a stack at the */
				/* other. */
#define PAGE	4096
#define ROOM	(16 << 10)	/* Bytes of a thread's own stack. */
#define HURRY	(-20)		/* The highest priority. */
#define ENTERED	1.0		/* Seconds in which a state is entered once. */
#define AGAIN	0.3		/* Seconds until a hook is taken for lost. */
#define LEAVE_MIN 0.002		/* Seconds in which compiled code is to be */
#define LEAVE_MAX 0.02		/* left, at the first visit and at most. */

static mp_visited fails(mp_session *s, const char *msg)
{
  snprintf(s->msg, sizeof(s->msg), "%s", msg);
  return MP_VISIT_FAILED;
}

static bool is_ours(const mp_session *s)
{
  return memcmp(&s->answer.caller, &s->caller, sizeof(s->caller)) == 0;
}

/* Reads the answer, whoever it is for. */
static bool read_answer(mp_session *s)
{
  mp_attach_block b;
  if (s->block == 0 || !mp_remote_read(s->pid, &b, s->block, sizeof(b)))
    return false;
  b.msg[sizeof(b.msg) - 1] = '\0';
  s->answer = b;
  return b.version == MP_ATTACH_VERSION;
}

bool mp_visit_read(mp_session *s) { return read_answer(s) && is_ours(s); }

bool mp_visit_withdraw(mp_session *s)
{
  const uint32_t none = 0;
  if (!mp_visit_read(s)) return true;
  mp_remote_write(s->pid, s->block + offsetof(mp_attach_block, open), &none,
		  sizeof(none));
  return mp_visit_read(s) && !s->answer.performing;
}

/* -- Calls --------------------------------------------------------------- */

/* Calls a function of the process. */
static bool call(mp_session *s, mp_tracee *t, uint64_t function, uint64_t a,
		 uint64_t b)
{
  const uint64_t args[6] = { a, b, 0, 0, 0, 0 };
  int64_t last;
  mp_called called = mp_call(t, &s->place, function, args, &last);
  if (called == MP_CALL_LEFT)
    snprintf(s->msg, sizeof(s->msg), "interrupted; process %ld finishes by "
	     "itself what it had begun", (long)s->pid);
  else if (called == MP_CALL_FAILED)
    snprintf(s->msg, sizeof(s->msg), "a call in process %ld failed",
	     (long)s->pid);
  return called == MP_CALL_DONE;
}

/* Maps memory, by a call on the thread's own stack: its address, or 0. */
static uint64_t map(mp_session *s, mp_tracee *t, uint64_t size, int protection)
{
  const uint64_t args[6] = { 0, size, (uint64_t)protection,
    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 };
  int64_t at;
  s->place.stack = 0;
  if (mp_call(t, &s->place, s->map, args, &at) != MP_CALL_DONE) return 0;
  return at > 0 || at < -4095 ? (uintptr_t)at : 0;
}

static void unmap(mp_session *s, mp_tracee *t, uint64_t at, uint64_t size)
{
  const uint64_t args[6] = { at, size, 0, 0, 0, 0 };
  int64_t result;
  s->place.stack = 0;
  if (at != 0) mp_call(t, &s->place, s->unmap, args, &result);
}

/* The text of dlerror. It needs code of ours, to see what was returned. */
static bool last_error(mp_session *s, mp_tracee *t, uint64_t at, char *to,
		       size_t n)
{
  uint64_t code = map(s, t, PAGE, PROT_READ | PROT_EXEC), text = 0;
  bool there = false;
  s->place.stack = at + AREA;
  if (code != 0 && s->error != 0 &&
      mp_tracee_poke(t, code, MP_CALL_CODE, sizeof(MP_CALL_CODE))) {
    s->place.returns = code;
    there = call(s, t, s->error, 0, 0) && mp_call_result(t, &text) &&
	    text != 0 && mp_remote_string(s->pid, to, text, n);
    s->place.returns = s->code.restorer;
  }
  unmap(s, t, code, PAGE);
  return there;
}

/* The reason why the library could not be loaded. */
static mp_visited not_loaded(mp_session *s, mp_tracee *t, uint64_t at)
{
  char why[512];
  if (!last_error(s, t, at, why, sizeof(why)))
    snprintf(why, sizeof(why), "no reason is known");
  snprintf(s->msg, sizeof(s->msg), "process %ld cannot load %.200s: %s",
	   (long)s->pid, s->library, why);
  return MP_VISIT_FAILED;
}

/* False: s->msg says that the call did not come to its end. */
static bool load_object(mp_session *s, mp_tracee *t, uint64_t at,
			const char *name, int flags)
{
  s->place.stack = at + AREA;
  if (mp_remote_write(s->pid, at, name, strlen(name) + 1))
    return call(s, t, s->open, at, (uint64_t)flags);
  fails(s, strerror(errno));
  return false;
}

/* Loads the library of names, which every object sees once the functions are
** in it. */
static mp_visited load_names(mp_session *s, mp_tracee *t, uint64_t at)
{
  if (!load_object(s, t, at, s->names, RTLD_NOW)) return MP_VISIT_FAILED;
  mp_maps_renew(&s->maps, s->pid);
  if (!mp_hidden_show(&s->hidden, &s->maps, s->names, t))
    return not_loaded(s, t, at);
  return load_object(s, t, at, s->names, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) ?
	 MP_VISITED : MP_VISIT_FAILED;
}

/* Loads the module for a VM that does not export its functions. */
static mp_visited load_with_names(mp_session *s, mp_tracee *t, uint64_t at)
{
  mp_visited v = load_names(s, t, at);
  if (v == MP_VISITED && !load_object(s, t, at, s->library, RTLD_NOW))
    return MP_VISIT_FAILED;
  if (v != MP_VISITED) return v;
  mp_hidden_hide(&s->hidden, t);
  mp_maps_renew(&s->maps, s->pid);
  return mp_session_loaded(s) ? MP_VISITED : not_loaded(s, t, at);
}

/* Loads the module. If LuaJIT's functions are visible only to some objects,
** they are made visible to all first. */
static mp_visited load(mp_session *s, mp_tracee *t, uint64_t at)
{
  if (s->names != NULL) return load_with_names(s, t, at);
  if (!load_object(s, t, at, s->library, RTLD_NOW)) return MP_VISIT_FAILED;
  mp_maps_renew(&s->maps, s->pid);
  if (mp_session_loaded(s)) return MP_VISITED;
  if (!load_object(s, t, at, s->code.vm->path,
		   RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) ||
      !load_object(s, t, at, s->library, RTLD_NOW))
    return MP_VISIT_FAILED;
  mp_maps_renew(&s->maps, s->pid);
  return mp_session_loaded(s) ? MP_VISITED : not_loaded(s, t, at);
}

static mp_visited refused(mp_session *s)
{
  snprintf(s->msg, sizeof(s->msg), "another session is profiling the process: "
	   "luajit-mp, process %lu", (unsigned long)s->answer.caller.pid);
  return MP_VISIT_FAILED;
}

/* Passes the request to the module. It is refused while another command has
** one, or a profile; if that command has ended, we take its place, unless its
** request is being done just now. */
static mp_visited tell(mp_session *s, mp_tracee *t, uint64_t at,
		       mp_attach_call *request)
{
  int i;
  s->place.stack = at + AREA;
  if (!read_answer(s))
    return fails(s, "the process has loaded another version of luajit-mp: "
		 "restart it, or use that version");
  request->caller = s->caller;
  for (i = 0; i < 2; i++) {
    request->beat = (uint32_t)mp_clock_wall();
    if (!mp_remote_write(s->pid, at, request, sizeof(*request)))
      return fails(s, strerror(errno));
    if (!call(s, t, s->enter, at, 0)) return MP_VISIT_FAILED;
    s->asked = mp_visit_read(s);
    if (s->asked || s->answer.performing || !mp_look_gone(&s->answer.caller))
      break;
    request->over = s->answer.caller;
  }
  return s->asked || s->answer.performing ? MP_VISITED : refused(s);
}

static mp_visited work(mp_session *s, mp_tracee *t, mp_attach_call *request)
{
  uint64_t at = map(s, t, AREA, PROT_READ | PROT_WRITE);
  mp_visited v = MP_VISITED;
  if (at == 0)
    return fails(s, "the process cannot map memory for the profiler");
  if (s->enter == 0) v = load(s, t, at);
  if (v == MP_VISITED) v = tell(s, t, at, request);
  unmap(s, t, at, AREA);
  return v;
}

/* While a thread of the process stands still no other program shall keep us
** from a processor, where we may ask for that. */
static int hurry(void)
{
  int before = getpriority(PRIO_PROCESS, 0);
  setpriority(PRIO_PROCESS, 0, HURRY);
  return before;
}

/* -- Threads ------------------------------------------------------------- */

/* Whether the thread's stack has that C frame. */
static bool has_frame(mp_session *s, pid_t tid, uint64_t frame)
{
  int err;
  mp_tracee *t = mp_tracee_stop(tid, &err);
  const mp_mapping *a;
  if (t == NULL) return false;
  a = mp_maps_find(&s->maps, mp_tracee_registers(t).sp);
  mp_tracee_release(t);
  return a != NULL && frame >= a->from && frame < a->to;
}

/* The C frame of the state, if it has one within some time. */
static uint64_t await_frame(mp_session *s)
{
  const struct timespec step = { 0, 100000 };
  double until = mp_clock_wall() + ENTERED;
  uint64_t frame = 0;
  while (frame == 0 && mp_clock_wall() < until) {
    frame = s->kind->cframe(s->pid, s->state);
    if (frame == 0) nanosleep(&step, NULL);
  }
  return frame;
}

/* The number of threads; *found: the one with that C frame, unless it is 0. */
static int look_through(mp_session *s, uint64_t frame, pid_t *found)
{
  struct dirent *e;
  char name[64];
  int n = 0;
  DIR *d;
  snprintf(name, sizeof(name), "/proc/%ld/task", (long)s->pid);
  if ((d = mp_room(opendir(name))) == NULL) return 0;
  while ((e = readdir(d)) != NULL) {
    pid_t tid = (pid_t)atol(e->d_name);
    if (tid <= 0) continue;
    n++;
    if (frame != 0 && has_frame(s, tid, frame)) {
      *found = tid;
      break;
    }
  }
  closedir(d);
  return n;
}

static bool is_alone(mp_session *s) { return look_through(s, 0, NULL) == 1; }

void mp_visit_choose(mp_session *s)
{
  uint64_t frame;
  int priority;
  s->tid = s->pid;
  if (is_alone(s)) return;
  frame = await_frame(s);
  priority = hurry();
  look_through(s, frame, &s->tid);
  setpriority(PRIO_PROCESS, 0, priority);
}

/* -- A visit ------------------------------------------------------------- */

/* The Lua thread that can be used while this one sleeps, or 0. What would be
** done in a handler of the profiler's signals would wait for its end. */
static uint64_t usable_now(mp_session *s, mp_tracee *t)
{
  const mp_registers r = mp_tracee_registers(t);
  bool idle;
  uint64_t L;
  if (mp_safe_handles(&s->code, t)) return 0;
  L = s->kind->resting(&s->maps, s->state, s->code.vm, r.sp, r.link, &idle);
  return idle && !is_alone(s) ? 0 : L;
}

/* Whether the thread's stack has room for a call. */
static bool has_room(const mp_session *s, const mp_tracee *t)
{
  uint64_t sp = mp_tracee_registers(t).sp;
  const mp_mapping *a = mp_maps_find(&s->maps, sp);
  return a != NULL && a->writable && sp - a->from > ROOM;
}

/* Whether functions may be called in the thread. */
static bool may_call(const mp_session *s, const mp_tracee *t)
{
  return mp_safe_now(&s->code, t) && has_room(s, t) &&
	 (s->enter != 0 || mp_safe_loader(&s->code));
}

/* Leads the thread out of compiled code. From where no way out is reached soon,
** one may be after the program has gone on. */
static void leave(mp_session *s, mp_tracee *t)
{
  s->kind->leave(&s->code, s->state, t, s->leaving);
  s->leaving = s->leaving * 1.5 < LEAVE_MAX ? s->leaving * 1.5 : LEAVE_MAX;
}

static mp_visited visit(mp_session *s, mp_tracee *t, const mp_attach_call *call,
			double *placed)
{
  mp_attach_call mine = *call;
  double now = mp_clock_wall();
  mp_visited v = MP_VISITED;
  if (*placed > 0 && mp_visit_read(s) && s->answer.open == 0) return v;
  if (may_call(s, t)) {
    if (mp_safe_asleep(t) && mine.request < MP_REQUEST_NONE)
      mine.now = usable_now(s, t);
    if (*placed == 0 || mine.now != 0 || now > *placed + AGAIN) {
      v = work(s, t, &mine);
      if (*placed == 0) s->leaving = LEAVE_MIN;
      *placed = now;
    }
  }
  if (v == MP_VISITED && *placed > 0 && s->answer.open != 0 &&
      s->answer.steps)
    leave(s, t);
  return v;
}

static mp_visited stop_and_visit(mp_session *s, const mp_attach_call *call,
				 double *placed)
{
  mp_visited v;
  int err;
  mp_tracee *t = mp_tracee_stop(s->tid, &err);
  if (t == NULL && (err == ESRCH || mp_look_ended(s->pid)))
    return MP_VISIT_GONE;
  if (t == NULL && (err == EPERM || err == EACCES)) {
    s->tracer = mp_look_tracer(s->tid);
    if (s->tracer != 0 && s->tracer != getpid()) return MP_VISITED;
    mp_look_forbidden(s->pid, s->msg, sizeof(s->msg));
    return MP_VISIT_FAILED;
  }
  if (t == NULL && err == EBUSY) return MP_VISITED;  /* It may go on. */
  if (t == NULL) return fails(s, strerror(err));
  s->tracer = 0;
  v = visit(s, t, call, placed);
  mp_tracee_release(t);
  return v;
}

mp_visited mp_visit(mp_session *s, const mp_attach_call *call, double *placed)
{
  int priority;
  mp_visited v;
  mp_maps_renew(&s->maps, s->pid);
  priority = hurry();
  v = stop_and_visit(s, call, placed);
  setpriority(PRIO_PROCESS, 0, priority);
  return v;
}
