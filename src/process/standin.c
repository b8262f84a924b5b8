/* SPDX-License-Identifier: MIT */
/*
** See process/standin.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "process/ctx.h"
#include "process/ends.h"
#include "process/standin.h"
#include "report/write.h"

#define STEP	10		/* Milliseconds between two looks at the */
				/* child. */
#define STUCK	700		/* Milliseconds without progress: it is */
				/* stuck. */

/* The progress of the child, in memory that it shares with us. */
static struct progress {
  volatile int writing;		/* It waits for a reader or a disk. */
  volatile int written;		/* All reports are. */
  volatile int asked;		/* From the parent: a signal asks it to end. */
} *progress;

static bool (*is_asked)(void);

bool mp_standin_asked(void)
{
  return mp_process_stands_in() && progress->asked;
}

void mp_standin_install(bool (*asked)(void))
{
  void *p = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  is_asked = asked;
  if (p != MAP_FAILED) progress = p;
}

/* A fork that runs nobody's handlers. The program does not learn of the child's
** end: there is no SIGCHLD, and its wait does not return the child. */
static pid_t plain_fork(void)
{
  return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

/* A crash of the child is not the program's. */
static void crash_quietly(void)
{
  static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
  const struct rlimit none = { 0, 0 };
  size_t i;
  setrlimit(RLIMIT_CORE, &none);
  for (i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
    signal(crashes[i], SIG_DFL);
}

static void run_child(pid_t parent, void (*begin)(void))
{
  sigset_t all;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  crash_quietly();
  mp_process_stand_in(parent);
  mp_lock_renew();
  if (begin != NULL) begin();
  mp_write_watch(&progress->writing);
  mp_final_report_stuck();
  progress->written = 1;
  _exit(0);
}

/* Whether the child has made progress since the last call: it has used the
** processor or waits for its reader. */
static bool comes_on(clockid_t clock, struct timespec *last)
{
  struct timespec now;
  bool moved;
  if (progress->writing) return true;
  if (clock_gettime(clock, &now) != 0) return false;
  moved = now.tv_sec != last->tv_sec || now.tv_nsec != last->tv_nsec;
  *last = now;
  return moved;
}

/* Waits for the child, or ends it. */
static void wait_for(pid_t child, bool (*given_up)(void))
{
  struct timespec last = { 0, 0 };
  clockid_t clock;
  int idle = 0;
  if (clock_getcpuclockid(child, &clock) != 0) clock = CLOCK_MONOTONIC;
  while (idle < STUCK && !given_up()) {
    pid_t got = waitpid(child, NULL, WNOHANG | __WALL);
    if (got == child || (got < 0 && kill(child, 0) != 0)) return;
    mp_clock_pause(STEP);
    progress->asked = is_asked();
    idle = comes_on(clock, &last) ? 0 : idle + STEP;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, __WALL);
}

bool mp_standin_report(bool (*given_up)(void), void (*begin)(void))
{
  pid_t parent = mp_process_self(), child;
  mp_ctx *c;
  if (progress == NULL) return false;
  progress->writing = progress->written = 0;
  progress->asked = is_asked();
  /* The child has another clock of CPU time. */
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (!c->final.done)
      mp_span_end(&c->profile.span, mp_cpu_time(&c->profile.cpu));
  child = plain_fork();
  if (child == 0) run_child(parent, begin);
  if (child > 0) wait_for(child, given_up);
  return progress->written;
}
