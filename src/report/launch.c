/* SPDX-License-Identifier: MIT */
/*
** See report/launch.h.
*/
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/launch.h"

#define STACK		(64 << 10)	/* Of the process in between. */

extern char **environ;

/* For the process in between. */
typedef struct launch {
  mp_launch *what;
  int err;
} launch;

/* Closes all but the first descriptors, in a table that is this process's own.
** A server must not find its sockets kept by us. */
static void close_from(int fd)
{
  long max;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0) == 0) return;
#endif
  for (max = sysconf(_SC_OPEN_MAX); fd < max && fd < 65536; fd++) close(fd);
}

/* Starts the command and ends, so that the command is an orphan. Runs in the
** memory of the program, whose thread waits, but with tables of its own of
** descriptors and signals. */
static int start_and_end(void *data)
{
  launch *l = data;
  mp_launch *w = l->what;
  posix_spawnattr_t attr;
  sigset_t set;
  int i;
  for (i = 0; i < w->nfds; i++)
    if (dup2(w->fds[i], i) < 0) _exit(1);
  close_from(w->nfds);
  (void)!chdir("/");
  sigemptyset(&set);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setsigmask(&attr, &set);
  sigfillset(&set);
  posix_spawnattr_setsigdefault(&attr, &set);
  posix_spawnattr_setpgroup(&attr, 0);  /* Ctrl-C is not for it. */
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
			   POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  l->err = posix_spawn(&w->pid, w->file, NULL, &attr, w->argv, environ);
  _exit(0);
}

/* With all signals blocked. The end of the process in between raises no signal,
** and a wait of the program's does not see it. */
int mp_launch_orphan(mp_launch *what)
{
  launch l = { what, 0 };
  char *stack = malloc(STACK);
  sigset_t all, old;
  int status, err = 0;
  pid_t child;
  if (stack == NULL) return ENOMEM;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  child = clone(start_and_end, stack + STACK, CLONE_VM | CLONE_VFORK, &l);
  if (child < 0) err = errno;
  while (child > 0 && waitpid(child, &status, __WALL) < 0 && errno == EINTR);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  free(stack);
  return err != 0 ? err : l.err;
}
