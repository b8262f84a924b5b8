/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/child.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/pool.h"
#include "data/process.h"
#include "data/strict.h"
#include "heapwalk/blocks.h"
#include "heapwalk/child.h"
#include "heapwalk/prove.h"
#include "native/native.h"

#define SHARE	((size_t)16 << 20)  /* Bytes that a walk may have. */
#define MEMORY	((size_t)64 << 20)  /* Bytes that the child may take, and as */
				/* many as the heap has. */
#define CPU	600		/* Seconds of CPU time that it may take. */
#define COPIED_CPU 20		/* The same for a copied heap, and one more */
#define COPIED_RATE ((size_t)8 << 20)  /* for so many bytes of it. */
#define NICE	10		/* By that it is behind the program. */
#define STEP	2		/* Milliseconds between two looks at it. */

/* The walk, and behind it what it consists of. */
typedef struct mp_heapshare {
  mp_heapwalk walk;		/* First: see mp_heapwalk_free. */
  atomic_bool done;
  size_t used, size;		/* Bytes. */
} share;

/* -- The child ----------------------------------------------------------- */

/* Copies n bytes into the shared memory. NULL: they do not fit, or there were
** none. */
static void *put(share *s, const void *p, size_t n)
{
  size_t at = (s->used + 15) & ~(size_t)15;
  if (p == NULL || n > s->size || at > s->size - n) return NULL;
  s->used = at + n;
  return memcpy((char *)s + at, p, n);
}

static char *put_string(share *s, const char *text)
{
  return text != NULL ? put(s, text, strlen(text) + 1) : NULL;
}

static void put_lines(share *s, const mp_holders *from, mp_holders *to)
{
  uint32_t i;
  memset(to, 0, sizeof(*to));
  to->lines = put(s, from->lines, from->nlines * sizeof(*from->lines));
  for (i = 0; to->lines != NULL && i < from->nlines; i++) {
    to->lines[i].label = put_string(s, from->lines[i].label);
    to->lines[i].what = put_string(s, from->lines[i].what);
  }
  to->nlines = from->nlines;
}

static void put_kinds(share *s, const mp_heapkinds *from, mp_heapkinds *to)
{
  uint32_t i;
  *to = *from;
  to->a = put(s, from->a, from->n * sizeof(*from->a));
  for (i = 0; to->a != NULL && i < from->n; i++)
    to->a[i].name = put_string(s, from->a[i].name);
}

static void hand_over(share *s, const mp_heapwalk *w)
{
  s->walk = *w;
  s->walk.file = put(s, w->file, w->filelen);
  put_lines(s, &w->holders, &s->walk.holders);
  put_kinds(s, &w->kinds, &s->walk.kinds);
  s->walk.joins = put(s, w->joins, w->njoins * sizeof(*w->joins));
  s->walk.c.joins = put(s, w->c.joins, w->c.njoins * sizeof(*w->c.joins));
  s->walk.mapped = s->size;
  if (w->why == NULL && (s->walk.holders.lines == NULL ||
			 (s->walk.kinds.a == NULL && w->kinds.n > 0) ||
			 (s->walk.file == NULL && w->file != NULL) ||
			 (s->walk.joins == NULL && w->njoins > 0) ||
			 (s->walk.c.joins == NULL && w->c.njoins > 0)))
    s->walk.why = "it is too large";
  s->done = true;
}

/* The kernel ends the child before the program where memory is short. */
static void offer_to_killer(void)
{
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "1000", 4) < 0) errno = 0;
  close(fd);
}

/* All signals are blocked. A crash is not the program's. An urgent child keeps
** the program's priority: a child of a lower one is slow to end as well, and
** until it has ended its memory counts, although the kernel does not choose it
** any more, but would kill the program instead. */
static void settle(pid_t parent, size_t memory, rlim_t seconds, bool urgent)
{
  const struct rlimit none = { 0, 0 }, cpu = { seconds, seconds };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_CPU, &cpu);
#ifdef SYS_close_range
  syscall(SYS_close_range, 0u, ~0u, 0u);
#endif
  if (!urgent)
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
  offer_to_killer();
  mp_lock_renew();
  mp_native_child(MP_NATIVE_ON);
  mp_pool_begin(memory);
}

static void run(share *s, pid_t parent, const mp_profile *p, lua_State *L,
		const mp_heaprequest *request, size_t memory)
{
  bool native = p != NULL && mp_native_has(&p->capture);
  mp_heapwalk *w;
  settle(parent, memory, CPU, request->urgent);
  w = mp_heapwalk_take(p, L, request);
  if (w != NULL && native && !mp_native_has(&p->capture))
    w->c.why = "another thread was busy with it";
  if (w != NULL) hand_over(s, w);
  _exit(0);
}

void mp_heapchild_copied(mp_heapchild *c, pid_t parent, const mp_copied *copied,
			 const mp_heaprequest *request)
{
  size_t size = (size_t)copied->bytes;
  mp_heaplayout layout;
  mp_arena arena;
  mp_heapwalk *w, none;
  settle(parent, MEMORY + size, COPIED_CPU + size / COPIED_RATE, false);
  memset(&none, 0, sizeof(none));
  none.why = mp_copied_open(copied, &layout, &arena);
  if (none.why == NULL && !mp_strict_begin())
    none.why = "the system does not let a child confine itself";
  w = none.why == NULL ? mp_heapwalk_copied(copied, &layout, request) : &none;
  if (w != NULL) w->arena = arena;
  if (w != NULL) hand_over(c->share, w);
  _exit(0);
}

/* -- The process --------------------------------------------------------- */

/* A fork that runs nobody's handlers, and whose end nobody hears of. */
static pid_t fork_quietly(void)
{
  return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

/* The reason why there is no child. */
static const char *refusal(int err)
{
  switch (err) {
  case ENOMEM: return "there is no memory for a child";
  case EAGAIN: return "no more processes are allowed";
  default: return "the system forbids a child";
  }
}

bool mp_heapchild_share(mp_heapchild *c, size_t more)
{
  size_t size = SHARE + more;
  c->share = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED |
		  MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (c->share == MAP_FAILED) return false;
  c->share->used = sizeof(share);
  c->share->size = size;
  return true;
}

const char *mp_heapchild_begin(mp_heapchild *c, const mp_profile *p,
			       lua_State *L, const mp_heaprequest *request)
{
  const mp_heaplayout *layout = mp_heap_prove();
  size_t memory = MEMORY + (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024;
  pid_t parent = mp_process_self();
  sigset_t all, old;
  mp_arena a;
  int err;
  if (!layout->proved) return layout->why;
  mp_arena_look(NULL, NULL, &a);  /* Proves the layout of that, too, */
  mp_blocks_prove();  /* and this one that of malloc. */
  if (!mp_heapchild_share(c, 0)) return refusal(ENOMEM);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  if (p != NULL && mp_native_has(&p->capture)) mp_native_before_fork();
  c->seconds = mp_clock_wall();
  c->at = p != NULL ? c->seconds - p->span.wall0 : 0;
  c->pid = fork_quietly();
  err = errno;
  if (c->pid == 0) run(c->share, parent, p, L, request, memory);
  c->seconds = mp_clock_wall() - c->seconds;
  mp_native_parent();
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (c->pid > 0) return NULL;
  munmap(c->share, c->share->size);
  return refusal(err);
}

/* Whether the child has ended. */
static bool has_ended(pid_t pid)
{
  pid_t got = waitpid(pid, NULL, WNOHANG | __WALL);
  return got == pid || (got < 0 && errno != EINTR);
}

mp_heapwalk *mp_heapchild_end(mp_heapchild *c, const atomic_bool *hurry)
{
  bool hurried = false;
  while (!has_ended(c->pid)) {
    if (hurry != NULL && *hurry && !hurried)
      hurried = kill(c->pid, SIGKILL) == 0;
    mp_clock_pause(STEP);
  }
  return mp_heapchild_taken(c);
}

mp_heapwalk *mp_heapchild_taken(mp_heapchild *c)
{
  mp_heapwalk *w = &c->share->walk;
  if (!c->share->done)
    *w = (mp_heapwalk){ .why = "the child that made it was ended",
			.mapped = c->share->size };
  w->child = w->seconds;
  w->seconds = c->seconds;
  w->at = c->at;
  return w;
}
