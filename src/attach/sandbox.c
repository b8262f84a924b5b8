/* SPDX-License-Identifier: MIT */
/*
** See attach/sandbox.h.
*/
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/look.h"
#include "attach/room.h"
#include "attach/sandbox.h"
#include "attach/tracee.h"
#include "data/seccomp.h"

#define TRIES	50		/* To stop a thread, */
#define PAUSE	20000000	/* with this many nanoseconds in between. */

/* -- The filters of a process -------------------------------------------- */

typedef enum verdict { PERMITTED, DEADLY, UNREADABLE, REFUSED } verdict;

static mp_tracee *stop(pid_t tid, int *err)
{
  const struct timespec pause = { 0, PAUSE };
  mp_tracee *t = NULL;
  int i;
  for (i = 0; i < TRIES && t == NULL; i++) {
    t = mp_tracee_stop(tid, err);
    if (t == NULL && *err == EPERM && mp_look_tracer(tid) != 0) *err = EBUSY;
    if (t == NULL && *err != EBUSY) break;
    if (t == NULL) nanosleep(&pause, NULL);
  }
  return t;
}

static verdict check_filters(mp_tracee *t, const mp_needed **call)
{
  struct sock_filter *ins;
  verdict v = PERMITTED;
  unsigned i, count;
  for (i = 0; v == PERMITTED && (ins = mp_tracee_filter(t, i, &count)) != NULL;
       i++) {
    *call = mp_seccomp_deadly(ins, count);
    if (*call != NULL) v = DEADLY;
    free(ins);
  }
  return v == PERMITTED && errno != ENOENT ? UNREADABLE : v;
}

/* A thread that has filters. One that has ended has none. */
static verdict check_thread(pid_t tid, const mp_needed **call)
{
  verdict v;
  int err;
  mp_tracee *t = stop(tid, &err);
  if (t == NULL && err == ESRCH) return PERMITTED;
  if (t == NULL) return err == EPERM || err == EACCES ? REFUSED : UNREADABLE;
  v = check_filters(t, call);
  mp_tracee_release(t);
  return v;
}

/* -- Filters of our own -------------------------------------------------- */

/* Whether a file of the same name has the same text below two directories. */
static bool same_text(const char *a, const char *b)
{
  char x[4096], y[4096];
  FILE *f = mp_room(fopen(a, "re")), *g = mp_room(fopen(b, "re"));
  size_t n = f != NULL ? fread(x, 1, sizeof(x), f) : 0;
  size_t m = g != NULL ? fread(y, 1, sizeof(y), g) : 0;
  if (f != NULL) fclose(f);
  if (g != NULL) fclose(g);
  return n > 0 && n == m && n < sizeof(x) && memcmp(x, y, n) == 0;
}

/* Whether a thread has the filters that we have: a container's, since filters
** are inherited and never removed. */
static bool has_ours(pid_t pid, const mp_confined *theirs)
{
  mp_confined ours = mp_look_confined(getpid());
  char name[64];
  snprintf(name, sizeof(name), "/proc/%ld/cgroup", (long)pid);
  return ours.mode == theirs->mode && ours.filters == theirs->filters &&
	 same_text(name, "/proc/self/cgroup");
}

/* Makes all the calls, with arguments by which they do nothing. */
static void try_calls(void)
{
  const mp_needed *c;
  for (c = mp_seccomp_calls; c->name != NULL; c++) {
    if (c->number != SYS_exit && c->number != SYS_exit_group &&
	c->number != SYS_rt_sigreturn &&
	syscall(c->number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 &&
	c->must && (errno == EPERM || errno == EACCES))
      _exit(1);
  }
  _exit(0);
}

/* Whether a child survives that. */
static bool survives(void)
{
  int status = 0;
  pid_t child = fork();
  if (child == 0) try_calls();
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) ;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* -- All threads --------------------------------------------------------- */

static verdict check(pid_t pid, pid_t tid, const mp_needed **call)
{
  mp_confined c = mp_look_confined(tid);
  verdict v;
  if (c.mode == SECCOMP_MODE_DISABLED) return PERMITTED;
  if (c.mode == SECCOMP_MODE_STRICT) {
    *call = &mp_seccomp_calls[0];
    return DEADLY;
  }
  v = check_thread(tid, call);
  return v == UNREADABLE && has_ours(pid, &c) && survives() ? PERMITTED : v;
}

static verdict check_all(pid_t pid, const mp_needed **call)
{
  verdict v = PERMITTED;
  char dir[64];
  struct dirent *e;
  DIR *d;
  snprintf(dir, sizeof(dir), "/proc/%ld/task", (long)pid);
  if ((d = opendir(dir)) == NULL) return PERMITTED;
  while (v == PERMITTED && (e = readdir(d)) != NULL) {
    pid_t tid = (pid_t)atol(e->d_name);
    if (tid > 0) v = check(pid, tid, call);
  }
  closedir(d);
  return v;
}

bool mp_sandbox_permits(pid_t pid, char *buf, size_t n)
{
  const mp_needed *call = NULL;
  switch (check_all(pid, &call)) {
  case PERMITTED:
    return true;
  case DEADLY:
    snprintf(buf, n, "its seccomp filter would kill it for a system call that "
	     "a profile needs (%s): let the filter allow that%s", call->name,
	     call->must ? "" : ", or return an error "
	     "(SystemCallErrorNumber=EPERM in a unit of systemd)");
    return false;
  case UNREADABLE:
    snprintf(buf, n, "it has a seccomp filter, which might kill it for a "
	     "system call of the profiler, and which cannot be read from here: "
	     "run luajit-mp as root, outside of the sandbox");
    return false;
  default:
    mp_look_forbidden(pid, buf, n);
    return false;
  }
}
