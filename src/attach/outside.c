/* SPDX-License-Identifier: MIT */
/*
** See attach/outside.h.
*/
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/look.h"
#include "attach/outside.h"
#include "attach/room.h"
#include "attach/session.h"
#include "attach/symbol.h"

#define TRIES	4		/* Looks until a stack is given up. */
#define HURRY	(-20)		/* The highest priority. */
#define PAGE	4096
#define LATE	300000		/* Nanoseconds. */
#define SEEK	1		/* Milliseconds between two looks for the */
				/* thread, */
#define LOOK	100		/* and for the end of the process. */

/* -- The task clock -------------------------------------------------------- */

static void close_ticks(mp_outside *o)
{
  if (o->page != NULL) munmap(o->page, 2 * PAGE);
  if (o->ticks >= 0) close(o->ticks);
  o->page = NULL;
  o->ticks = -1;
}

static int open_clock(const mp_outside *o, bool user)
{
  struct perf_event_attr a;
  memset(&a, 0, sizeof(a));
  a.size = sizeof(a);
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_TASK_CLOCK;
  a.sample_period = (uint64_t)(o->interval * 1e9);
  a.sample_type = PERF_SAMPLE_READ;
  a.wakeup_events = 1;
  a.exclude_kernel = user;
  return (int)syscall(SYS_perf_event_open, &a, o->tid, -1, -1,
		      PERF_FLAG_FD_CLOEXEC);
}

/* Not all users may have the clock run in the kernel, too. */
static void open_ticks(mp_outside *o)
{
  void *page;
  close_ticks(o);
  o->ticks = open_clock(o, false);
  if (o->ticks < 0) o->ticks = open_clock(o, true);
  if (o->ticks < 0) return;
  page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, o->ticks, 0);
  if (page == MAP_FAILED) close_ticks(o);
  else o->page = page;
}

/* The record of a tick. */
typedef struct tick {
  struct perf_event_header head;
  uint64_t clock;		/* Nanoseconds that the thread had run. */
} tick;

/* Whether there were ticks since the last time. */
static bool has_ticked(mp_outside *o)
{
  uint64_t head = o->page->data_head, tail = o->page->data_tail;
  o->page->data_tail = head;
  return head != tail;
}

/* Whether the thread has run for long since the last tick: it may be anywhere
** now, and wait for a processor there. Such ticks have no sample. */
static bool is_late(const mp_outside *o)
{
  uint64_t now, head = o->page->data_head;
  tick last;
  if (head < sizeof(last) ||
      read(o->ticks, &now, sizeof(now)) != (ssize_t)sizeof(now))
    return true;
  memcpy(&last, (const char *)o->page + PAGE + (head - sizeof(last)) % PAGE,
	 sizeof(last));
  return now - last.clock > LATE;
}

/* -- The process ----------------------------------------------------------- */

static bool fails(mp_outside *o, const char *msg)
{
  snprintf(o->msg, sizeof(o->msg), "%s", msg);
  return false;
}

/* Whether the process has ended, or is about to. */
static bool has_no_memory(pid_t pid)
{
  mp_maps now;
  bool none = mp_maps_read(&now, pid) != 0 || now.n == 0;
  mp_maps_free(&now);
  return none;
}

static bool read_process(mp_outside *o, const volatile int *end)
{
  int err = mp_maps_read(&o->maps, o->pid);
  char c;
  if (err == EACCES || err == EPERM || (err == 0 && o->maps.n > 0 &&
      !mp_remote_read(o->pid, &c, o->maps.list[0].from, 1))) {
    mp_look_forbidden(o->pid, o->msg, sizeof(o->msg));
    return false;
  }
  if (err != 0) return fails(o, strerror(err));
  o->kind = mp_session_search(&o->maps, mp_symbol_find(&o->maps, NULL,
			      "mp_state_alloc"), o->states, &o->nstates, end);
  if (*end) return fails(o, "interrupted");
  if (mp_room_lacks())
    return fails(o, "luajit-mp has not enough memory to look at the process");
  if (o->nstates == 0 && has_no_memory(o->pid))
    return fails(o, "it has ended");
  if (o->nstates == 0)
    return fails(o, "the program has no Lua state that luajit-mp can read");
  return true;
}

bool mp_outside_open(mp_outside *o, pid_t pid, const volatile int *end)
{
  memset(o, 0, sizeof(*o));
  mp_room_forget();
  o->pid = o->tid = pid;
  o->pidfd = o->ticks = -1;
  if (!mp_look_process(pid, NULL, o->msg, sizeof(o->msg))) return false;
#ifdef SYS_pidfd_open
  o->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
  return read_process(o, end);
}

void mp_outside_close(mp_outside *o)
{
  close_ticks(o);
  if (o->pidfd >= 0) close(o->pidfd);
  mp_maps_free(&o->maps);
  o->pidfd = -1;
}

int mp_outside_threads(pid_t pid, pid_t list[MP_OUTSIDE_THREADS])
{
  char name[64];
  struct dirent *e;
  int n = 0;
  DIR *d;
  snprintf(name, sizeof(name), "/proc/%ld/task", (long)pid);
  if ((d = mp_room(opendir(name))) == NULL) return 0;
  while (n < MP_OUTSIDE_THREADS && (e = readdir(d)) != NULL)
    if (e->d_name[0] != '.') list[n++] = (pid_t)atol(e->d_name);
  closedir(d);
  return n;
}

/* Notes the CPU time of all threads at the beginning. */
static void note_begin(mp_outside *o)
{
  pid_t list[MP_OUTSIDE_THREADS];
  int n = mp_outside_threads(o->pid, list), i;
  o->nbegun = 0;
  for (i = 0; i < n; i++) {
    mp_outside_begun *b = &o->begun[o->nbegun];
    bool asleep;
    b->tid = list[i];
    if (mp_tracee_work(b->tid, &b->ran, &asleep)) o->nbegun++;
  }
}

bool mp_outside_choose(mp_outside *o, int state, double interval)
{
  o->interval = interval;
  /* A look that comes late meets another place. */
  setpriority(PRIO_PROCESS, 0, HURRY);
  o->state = &o->states[state];
  note_begin(o);
  o->running = o->kind->running(o->pid, o->state);
  if (o->running != 0) return true;
  return fails(o, has_no_memory(o->pid) ? "it has ended" :
	       "the Lua state is not one that luajit-mp can read from outside");
}

/* Looks at a thread. False: it cannot be stopped now. */
static bool look(mp_outside *o, pid_t tid, mp_far_place *place)
{
  mp_tracee *t;
  int err, i;
  *place = MP_FAR_LOST;
  for (i = 0; i < TRIES && *place == MP_FAR_LOST; i++) {
    if ((t = mp_tracee_stop(tid, &err)) == NULL) return false;
    *place = o->kind->stack(&o->maps, o->state, o->running, t, &o->stack);
    mp_tracee_again(t);
    mp_tracee_release(t);
  }
  return true;
}

/* The CPU seconds of a thread that do not count, or have been counted. The
** first one that is found has run the VM from the beginning, and where the one
** before is found again, no other one has run it since. */
static double ran_before(const mp_outside *o, pid_t tid, double ran)
{
  int i;
  if (o->found) return tid == o->tid ? o->ran : ran;
  for (i = 0; i < o->nbegun; i++)
    if (o->begun[i].tid == tid) return o->begun[i].ran;
  return 0;
}

/* Looks for the thread that runs the VM: the only one, or one on whose stack
** the VM's C frame is. Stacks may be new. */
static void find_thread(mp_outside *o)
{
  pid_t list[MP_OUTSIDE_THREADS];
  int n = mp_outside_threads(o->pid, list), i;
  mp_maps_renew(&o->maps, o->pid);
  for (i = 0; i < n && !o->known; i++) {
    mp_far_place place;
    bool asleep;
    double ran;
    if (!mp_tracee_work(list[i], &ran, &asleep) || (asleep && n > 1)) continue;
    o->known = n == 1 || (look(o, list[i], &place) && place != MP_FAR_IDLE &&
			  place != MP_FAR_ELSEWHERE);
    if (!o->known) continue;
    o->ran = ran_before(o, list[i], ran);
    o->tid = list[i];
    o->found = true;
    open_ticks(o);
  }
}

static void lose_thread(mp_outside *o)
{
  close_ticks(o);
  o->known = false;
}

bool mp_outside_sample(mp_outside *o, mp_far_place *place)
{
  bool asleep, due;
  double ran;
  if (!o->known) find_thread(o);
  if (!o->known) return false;
  if (!mp_tracee_work(o->tid, &ran, &asleep)) {
    lose_thread(o);
    return false;
  }
  o->spent += ran - o->ran;
  o->ran = ran;
  due = o->page != NULL ? has_ticked(o) :
			  o->spent - o->sampled >= o->interval;
  if (asleep || !due || !look(o, o->tid, place) ||
      (o->page != NULL && is_late(o)))
    return false;
  o->sampled = o->spent;
  if (*place == MP_FAR_ELSEWHERE) lose_thread(o);
  return *place != MP_FAR_ELSEWHERE;
}

int mp_outside_functions(const mp_outside *o, mp_far_function **list)
{
  *list = mp_room(malloc(MP_FUNCTIONS * sizeof(**list)));
  return *list == NULL ? 0 : o->kind->functions(o->pid, o->state, *list);
}

bool mp_outside_exists(const mp_outside *o)
{
  struct pollfd p = { o->pidfd, POLLIN, 0 };
  if (o->pidfd < 0) return kill(o->pid, 0) == 0 || errno != ESRCH;
  return poll(&p, 1, 0) <= 0;
}

bool mp_outside_wait(mp_outside *o, const volatile int *end)
{
  struct pollfd p[2] = { { o->pidfd, POLLIN, 0 }, { o->ticks, POLLIN, 0 } };
  int time = !o->known ? SEEK : o->page != NULL ? LOOK :
	     (int)(o->interval * 500);
  if (*end) return true;
  poll(p, 2, time < SEEK ? SEEK : time < LOOK ? time : LOOK);
  if ((p[1].revents & POLLHUP) != 0) lose_thread(o);
  mp_tracee_all_gone_on();
  return mp_outside_exists(o);
}
