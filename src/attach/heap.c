/* SPDX-License-Identifier: MIT */
/*
** See attach/heap.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/copy.h"
#include "attach/heap.h"
#include "attach/room.h"
#include "data/clock.h"

#define LOOKS	40		/* Looks for a moment when the VM rests, */
#define LOOKS_MAX 400		/* and for one at which its stack is known. */
#define COPIES	20		/* Copies until it is given up, */
#define STILL	3.0		/* or these seconds that they take. */
#define PAUSE	3		/* Milliseconds between two looks. */
#define STEP	20		/* The same while the child works. */
#define AHEAD	4		/* Copies before the process is stopped, at */
				/* most, */
#define MORE	16		/* while it grows by such a part. */
#define FILE_SIZE 24		/* Bytes of a file per byte of the heap. */
#define FILE_LEAST ((size_t)4 << 20)

static bool fails(mp_outside *o, const char *msg)
{
  if (msg != o->msg) snprintf(o->msg, sizeof(o->msg), "%s", msg);
  return false;
}

/* -- Threads ------------------------------------------------------------- */

typedef struct stopped {
  mp_tracee *list[MP_OUTSIDE_THREADS];
  pid_t tids[MP_OUTSIDE_THREADS];
  int n;
} stopped;

/* The last one first: each has noted which signals were blocked. */
static void release(stopped *s)
{
  while (s->n > 0) {
    mp_tracee *t = s->list[--s->n];
    mp_tracee_again(t);
    mp_tracee_release(t);
  }
}

static bool has_thread(const stopped *s, pid_t tid)
{
  int i;
  for (i = 0; i < s->n; i++)
    if (s->tids[i] == tid) return true;
  return false;
}

/* Stops those that are not in the list yet. *more: there were some. False: one
** cannot be stopped now. */
static bool stop_others(mp_outside *o, stopped *s, bool *more)
{
  pid_t list[MP_OUTSIDE_THREADS];
  int n = mp_outside_threads(o->pid, list), i, err;
  *more = false;
  for (i = 0; i < n && s->n < MP_OUTSIDE_THREADS; i++) {
    if (has_thread(s, list[i])) continue;
    s->list[s->n] = mp_tracee_stop(list[i], &err);
    if (s->list[s->n] == NULL && err == ESRCH) continue;  /* It has ended. */
    if (s->list[s->n] == NULL) return false;
    s->tids[s->n++] = list[i];
    *more = true;
  }
  return true;
}

static bool stop_all(mp_outside *o, stopped *s)
{
  bool more = true;
  s->n = 0;
  while (more)
    if (!stop_others(o, s, &more)) break;
  if (!more && s->n > 0) return true;
  release(s);
  return false;
}

/* Where the VM is, while all threads stand still. */
static mp_far_place find_place(mp_outside *o, const stopped *s)
{
  mp_far_place place = MP_FAR_LOST;
  int i;
  for (i = 0; i < s->n; i++) {
    place = o->kind->stack(&o->maps, o->state, o->running, s->list[i],
			   &o->stack);
    if (place != MP_FAR_ELSEWHERE) break;
  }
  return place;
}

/* -- The child ----------------------------------------------------------- */

typedef struct making {
  mp_outside *o;
  mp_attach_copied_walk request;
  const volatile int *end;
  mp_farheap *heap;
  double still;			/* Seconds that the process stood still. */
  pid_t child;			/* It has a copy of the memory; 0: none has. */
  int fd;			/* To talk with it, */
  void *walk;			/* and what it is to make. */
} making;

/* In the child: that it is done, or why it cannot be done, and ends then. */
static void tell(int fd, const char *why)
{
  if (why == NULL) why = "";
  if (send(fd, why, strlen(why) + 1, MSG_NOSIGNAL) < 0 || why[0] != '\0')
    _exit(1);
}

/* Copies while the process goes on, as it does before its threads are stopped,
** at no higher priority than it has itself. It may get more memory
** meanwhile. */
static void copy_ahead(const making *m, mp_copy *c, int fd)
{
  mp_maps *maps = &m->o->maps;
  uint64_t last = m->o->kind->last, size = 0;
  int priority = getpriority(PRIO_PROCESS, 0), i;
  const char *why = NULL;
  if (priority < 0) setpriority(PRIO_PROCESS, 0, 0);
  for (i = 0; i < AHEAD && why == NULL && size >= c->bytes + c->bytes / MORE;
       i++) {
    why = mp_copy_make(c, maps, last);
    mp_maps_renew(maps, m->o->pid);
    size = mp_copy_size(maps, last);
  }
  if (priority < 0) setpriority(PRIO_PROCESS, 0, priority);
  tell(fd, why);
}

/* The copy may take the place of our own Lua heap, and of all that is in it. */
static _Noreturn void run(making *m, pid_t parent, int fd)
{
  mp_outside o = *m->o;
  mp_copy c = { NULL, 0, 0 };
  mp_copied place;
  o.state = o.states + (o.state - m->o->states);
  m->o = &o;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  copy_ahead(m, &c, fd);
  if (recv(fd, &place, sizeof(place), 0) != (ssize_t)sizeof(place)) _exit(1);
  mp_maps_renew(&m->o->maps, m->o->pid);
  tell(fd, mp_copy_make(&c, &m->o->maps, m->o->kind->last));
  place.bytes = c.bytes;
  m->heap->calls->walk(m->walk, parent, &place, &m->request);
  _exit(1);
}

/* Waits for the child's word. False, with a message. */
static bool hear(making *m)
{
  struct pollfd p = { m->fd, POLLIN, 0 };
  char msg[256];
  ssize_t n = -1;
  while (!*m->end && poll(&p, 1, STEP) <= 0) mp_tracee_all_gone_on();
  if (*m->end) return fails(m->o, "interrupted");
  n = recv(m->fd, msg, sizeof(msg) - 1, 0);
  if (n <= 0)
    return fails(m->o, "the child that copied its memory was ended");
  msg[n] = '\0';
  return msg[0] == '\0' || fails(m->o, msg);
}

/* Waits until the child has ended. False: it was ended. */
static bool await(making *m, int *status)
{
  bool killed = false;
  while (waitpid(m->child, status, WNOHANG) == 0) {
    if (*m->end && !killed) killed = kill(m->child, SIGKILL) == 0;
    mp_tracee_all_gone_on();
    poll(NULL, 0, STEP / 4);
  }
  m->child = 0;
  return !killed && WIFEXITED(*status);
}

/* Bytes that there are for a copy. */
static uint64_t available(void)
{
  FILE *f = mp_room(fopen("/proc/meminfo", "re"));
  uint64_t kb = UINT64_MAX / 1024;
  char line[128];
  if (f == NULL) return UINT64_MAX;
  while (fgets(line, sizeof(line), f) != NULL)
    sscanf(line, "MemAvailable: %" SCNu64, &kb);
  fclose(f);
  return kb * 1024;
}

static bool measure(making *m)
{
  mp_outside *o = m->o;
  uint64_t size;
  mp_maps_renew(&o->maps, o->pid);
  size = mp_copy_size(&o->maps, o->kind->last);
  if (size == 0)
    return fails(o, "the system does not tell what it has in memory");
  if (size < available()) return true;
  snprintf(o->msg, sizeof(o->msg), "a copy of its memory takes %" PRIu64
	   " MB, which are not there", size >> 20);
  return false;
}

/* Makes a child, which copies the memory. False, with a message. */
static bool make_child(making *m)
{
  size_t more = m->request.file ?
		FILE_LEAST + (size_t)m->o->state->bytes * FILE_SIZE : 0;
  pid_t parent = getpid(), pid = -1;
  int fd[2] = { -1, -1 };
  if (!measure(m)) return false;
  m->walk = m->heap->calls->open(more);
  if (m->walk != NULL &&
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == 0)
    pid = fork();
  if (pid == 0) {
    close(fd[0]);
    run(m, parent, fd[1]);
  }
  if (fd[1] >= 0) close(fd[1]);
  m->fd = fd[0];
  m->child = pid < 0 ? 0 : pid;
  return pid > 0 ? hear(m) : fails(m->o, "there is no memory for a child");
}

static void end_child(making *m)
{
  int status;
  if (m->child != 0) {
    kill(m->child, SIGKILL);
    await(m, &status);
  }
  if (m->fd >= 0) close(m->fd);
  if (m->walk != NULL) m->heap->calls->release(m->walk);
  m->fd = -1;
  m->walk = NULL;
}

typedef enum outcome { DONE, AGAIN, NEVER } outcome;

/* Of a walk that the child has made, or not. Memory that is no heap is often
** what crashes it. */
static outcome judge(making *m)
{
  int status = 0;
  bool ended = await(m, &status);
  const char *why = m->heap->calls->why(m->walk, m->still);
  int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  bool crashed = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		 sig == SIGABRT;
  if (ended && why == NULL) {
    m->heap->walk = m->walk;
    m->walk = NULL;
    return DONE;
  }
  if (*m->end) fails(m->o, "interrupted");
  else if (crashed) fails(m->o, "at each look its heap was being changed, or "
			  "is none: the child that walked it crashed");
  else if (sig == SIGKILL)
    fails(m->o, "the child that walked its heap was killed: it came to no end, "
	  "or memory ran out");
  else fails(m->o, why != NULL ? why : "its walk was lost");
  return *m->end || sig == SIGKILL ? NEVER : AGAIN;
}

/* -- All ----------------------------------------------------------------- */

static bool find_calls(mp_outside *o, const char *library, mp_farheap *heap)
{
  const char *name = strrchr(library, '/');
  char path[PATH_MAX];
  void *lib;
  snprintf(path, sizeof(path), "%.*s%s", name == NULL ? 0 :
	   (int)(name - library) + 1, library, o->kind->core);
  lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  heap->calls = lib != NULL ? dlsym(lib, MP_ATTACH_COPIED) : NULL;
  return heap->calls != NULL || fails(o, dlerror());
}

/* Has the child copy once more, and lets the threads go on. idle: no function
** is under way. */
static outcome copy(making *m, stopped *s, bool idle, double began)
{
  const mp_found *state = m->o->state;
  const mp_far_stack *at = &m->o->stack;
  bool rests = idle || at->rests, done;
  mp_copied place = {
    state->mainl, state->g, m->o->running, state->vmstate, state->allocf,
    state->variant, rests ? 0 : at->base, rests ? 0 : at->pc,
    rests ? 0 : at->slots, 0
  };
  ssize_t sent = send(m->fd, &place, sizeof(place), MSG_NOSIGNAL);
  if (sent < 0) fails(m->o, "the child that copied its memory was ended");
  done = sent >= 0 && hear(m);
  release(s);
  m->still += mp_clock_wall() - began;
  return done ? judge(m) : NEVER;
}

/* One look. rests: nothing else will do. */
static outcome try(making *m, stopped *s, bool rests, int *copies)
{
  mp_outside *o = m->o;
  mp_far_place place;
  double began;
  if (m->child == 0) {
    end_child(m);
    if (!make_child(m)) return NEVER;
  }
  began = mp_clock_wall();
  if (!stop_all(o, s)) return AGAIN;
  mp_maps_renew(&o->maps, o->pid);
  place = find_place(o, s);
  if (place == MP_FAR_IDLE ||
      (place == MP_FAR_FOUND && (o->stack.rests || !rests))) {
    ++*copies;
    m->heap->compiled = place == MP_FAR_FOUND && !o->stack.rests &&
			o->stack.pc == 0;
    return copy(m, s, place == MP_FAR_IDLE, began);
  }
  release(s);
  m->still += mp_clock_wall() - began;
  return AGAIN;
}

bool mp_outside_heap(mp_outside *o, const char *library,
		     const mp_attach_copied_walk *request,
		     const volatile int *end, mp_farheap *heap)
{
  making m = { .o = o, .request = *request, .end = end, .heap = heap,
	       .fd = -1 };
  stopped *s = mp_room(malloc(sizeof(*s)));
  outcome is = AGAIN;
  int looks, copies = 0;
  memset(heap, 0, sizeof(*heap));
  if (s == NULL || !find_calls(o, library, heap)) {
    free(s);
    return s != NULL ? false : fails(o, "there is no memory for it");
  }
  fails(o, "at no look its Lua stack was known");
  for (looks = 0; is == AGAIN && looks < LOOKS_MAX && copies < COPIES &&
       m.still < STILL && !*end; looks++) {
    if (looks > 0) poll(NULL, 0, PAUSE);
    is = try(&m, s, looks < LOOKS, &copies);
    if (is == AGAIN && !mp_outside_exists(o)) is = NEVER;
  }
  end_child(&m);
  free(s);
  if (is != DONE && !mp_outside_exists(o)) fails(o, "it has ended");
  return is == DONE;
}
