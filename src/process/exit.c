/* SPDX-License-Identifier: MIT */
/*
** See process/exit.h.
*/
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef HAVE_ON_EXIT
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "process/exit.h"

static bool leaky;

void mp_exit_leaky(void) { leaky = true; }

#ifdef HAVE_ON_EXIT

static void set_status(int status, void *unused)
{
  (void)unused;
  if (status != 0 || !leaky) return;
  fflush(NULL);
  _exit(MP_EXIT_LEAK);
}

void mp_exit_install(void) { on_exit(set_status, NULL); }

#else

/* No handler is told the status: the system call with which the process ends
** has it. A filter makes that with status 0 a signal, and the handler ends the
** process with the other status. */

static void end_leaky(int sig)
{
  (void)sig;
  _exit(MP_EXIT_LEAK);
}

static void trap_success(void)
{
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  };
  struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void set_status(void)
{
  struct sigaction a = { .sa_handler = end_leaky };
  sigset_t set;
  if (!leaky) return;
  sigemptyset(&a.sa_mask);
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  if (sigaction(SIGSYS, &a, NULL) != 0) return;
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  fflush(NULL);
  trap_success();
}

void mp_exit_install(void) { atexit(set_status); }

#endif
