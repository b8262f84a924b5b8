/* SPDX-License-Identifier: MIT */
/*
** See data/process.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "data/process.h"

static pid_t stood_in_for;	/* Or 0. */
static _Atomic pid_t owner;	/* Of the memory. */

/* The kernel's encoding of a thread in the number of its clock, which the C
** library makes without a system call. */
static pid_t thread_of(clockid_t clock) { return ~(clock >> 3); }

pid_t mp_process_thread(void)
{
  int saved = errno;
  pid_t tid = (pid_t)syscall(SYS_gettid);
  clockid_t clock;
  errno = saved;
  if (tid > 0) return tid;
  return pthread_getcpuclockid(pthread_self(), &clock) == 0 ?
	 thread_of(clock) : owner;
}

pid_t mp_process_self(void)
{
  pid_t pid = getpid(), known = owner;
  return pid > 0 ? pid : known > 0 ? known : mp_process_thread();
}

pid_t mp_process(void)
{
  return stood_in_for ? stood_in_for : mp_process_self();
}

bool mp_process_raise(int sig)
{
  return syscall(SYS_tgkill, mp_process_self(), mp_process_thread(), sig) == 0;
}

void mp_process_stand_in(pid_t pid) { stood_in_for = pid; }

bool mp_process_stands_in(void) { return stood_in_for != 0; }

/* The only thread of a forked child has the number of the process. */
static void renew(void)
{
  pid_t pid = getpid();
  owner = pid > 0 ? pid : mp_process_thread();
}

static void note(void)
{
  renew();
  pthread_atfork(NULL, NULL, renew);
}

void mp_process_note(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, note);
}

bool mp_process_borrows(void)
{
  return stood_in_for == 0 && owner != mp_process_self();
}
