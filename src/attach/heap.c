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
#include <sys/mman.h>
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
} making;

/* The child tells, once the memory is copied, a reason or "". */
static _Noreturn void run(making *m, void *walk, pid_t parent, int fd,
			  bool idle)
{
  const mp_outside *o = m->o;
  const mp_far_stack *s = &o->stack;
  bool rests = idle || s->rests;
  mp_copied copied = {
    o->state->mainl, o->state->g, o->running, o->state->vmstate,
    o->state->allocf, o->state->variant, rests ? 0 : s->base,
    rests ? 0 : s->pc, rests ? 0 : s->slots
  };
  const char *why = mp_copy_memory(&o->maps, o->kind->last);
  ssize_t n = write(fd, why != NULL ? why : "", why != NULL ? strlen(why) : 1);
  if (why != NULL || n < 0) _exit(1);
  m->heap->calls->walk(walk, parent, &copied, &m->request);
  _exit(1);
}

/* Waits for the child's word. False, with a message. */
static bool hear(making *m, int fd)
{
  struct pollfd p = { fd, POLLIN, 0 };
  char msg[256];
  ssize_t n = -1;
  while (!*m->end && poll(&p, 1, STEP) <= 0) ;
  if (*m->end) return fails(m->o, "interrupted");
  n = read(fd, msg, sizeof(msg) - 1);
  if (n <= 0)
    return fails(m->o, "the child that copied its memory was ended");
  msg[n] = '\0';
  return msg[0] == '\0' || fails(m->o, msg);
}

/* Waits until the child has ended. False: it was ended. */
static bool await(making *m, pid_t pid, int *status)
{
  bool killed = false;
  while (waitpid(pid, status, WNOHANG) == 0) {
    if (*m->end && !killed) killed = kill(pid, SIGKILL) == 0;
    mp_tracee_all_gone_on();
    poll(NULL, 0, STEP / 4);
  }
  return !killed && WIFEXITED(*status);
}

typedef enum outcome { DONE, AGAIN, NEVER } outcome;

/* Of a walk that the child has made, or not. Memory that is no heap is often
** what crashes it. */
static outcome judge(making *m, void *walk, bool ended, int status)
{
  const char *why = m->heap->calls->why(walk, m->still);
  int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  bool crashed = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		 sig == SIGABRT;
  if (ended && why == NULL) {
    m->heap->walk = walk;
    return DONE;
  }
  if (*m->end) fails(m->o, "interrupted");
  else if (crashed) fails(m->o, "at each look its heap was being changed, or "
			  "is none: the child that walked it crashed");
  else if (sig == SIGKILL)
    fails(m->o, "the child that walked its heap was killed: it came to no end, "
	  "or memory ran out");
  else fails(m->o, why != NULL ? why : "its walk was lost");
  m->heap->calls->release(walk);
  return *m->end || sig == SIGKILL ? NEVER : AGAIN;
}

/* Copies and walks, with all threads stopped until it is copied. */
static outcome copy(making *m, stopped *s, bool idle, double began)
{
  size_t more = m->request.file ?
		FILE_LEAST + (size_t)m->o->state->bytes * FILE_SIZE : 0;
  pid_t parent = getpid();
  bool heard = false, ended;
  int fd[2] = { -1, -1 }, status = 0;
  pid_t pid = -1;
  void *walk = m->heap->calls->open(more);
  if (walk != NULL && pipe(fd) == 0) pid = fork();
  if (pid == 0) run(m, walk, parent, fd[1], idle);
  if (fd[1] >= 0) close(fd[1]);
  if (pid > 0) heard = hear(m, fd[0]);
  else fails(m->o, "there is no memory for a child");
  if (fd[0] >= 0) close(fd[0]);
  release(s);
  m->still += mp_clock_wall() - began;
  if (pid > 0 && !heard) kill(pid, SIGKILL);
  ended = pid > 0 && await(m, pid, &status);
  if (heard) return judge(m, walk, ended, status);
  if (walk != NULL) m->heap->calls->release(walk);
  return NEVER;
}

/* -- All ----------------------------------------------------------------- */

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
  m->request.size = (size_t)size;
  if (size < available()) return true;
  snprintf(o->msg, sizeof(o->msg), "a copy of its memory takes %" PRIu64
	   " MB, which are not there", size >> 20);
  return false;
}

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

/* One look. rests: nothing else will do. */
static outcome try(making *m, stopped *s, bool rests, bool *copied)
{
  mp_outside *o = m->o;
  mp_far_place place;
  double began = mp_clock_wall();
  *copied = false;
  if (!stop_all(o, s)) return AGAIN;
  mp_maps_renew(&o->maps, o->pid);
  place = find_place(o, s);
  if (place == MP_FAR_IDLE ||
      (place == MP_FAR_FOUND && (o->stack.rests || !rests))) {
    *copied = true;
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
  making m = { .o = o, .request = *request, .end = end, .heap = heap };
  stopped *s = mp_room(malloc(sizeof(*s)));
  outcome is = AGAIN;
  int looks, copies = 0;
  bool copied;
  memset(heap, 0, sizeof(*heap));
  if (s == NULL || !find_calls(o, library, heap) || !measure(&m)) {
    free(s);
    return s != NULL ? false : fails(o, "there is no memory for it");
  }
  fails(o, "at no look its Lua stack was known");
  for (looks = 0; is == AGAIN && looks < LOOKS_MAX && copies < COPIES &&
       m.still < STILL && !*end; looks++) {
    if (looks > 0) poll(NULL, 0, PAUSE);
    is = try(&m, s, looks < LOOKS, &copied);
    copies += copied;
    if (kill(o->pid, 0) != 0 && errno == ESRCH) is = is == DONE ? DONE : NEVER;
  }
  free(s);
  if (is != DONE && mp_outside_threads(o->pid, (pid_t[MP_OUTSIDE_THREADS]){ 0 })
      == 0)
    fails(o, "it has ended");
  return is == DONE;
}
