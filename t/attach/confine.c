/* SPDX-License-Identifier: MIT */
/*
** Runs a command below a seccomp filter:
**
**   confine ACTION [NUMBER]... -- COMMAND...
**
** For the system calls of these numbers the result is the ACTION: kill, trap or
** error. "argument" kills for an ioctl whose second argument is NUMBER, and
** "only" kills for all others.
*/
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IOCTL_REQUEST (offsetof(struct seccomp_data, args) + 8)

static struct sock_filter code[512];
static unsigned short n;

static void add(struct sock_filter i) { code[n++] = i; }

static void load(size_t offset)
{
  add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
				   (unsigned)offset));
}

static void give(unsigned result)
{
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result));
}

/* The result for a number. */
static void match(unsigned number, unsigned result)
{
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  give(result);
}

static void make(const char *action, char **list, int count)
{
  unsigned result = SECCOMP_RET_KILL_PROCESS;
  int i;
  if (strcmp(action, "trap") == 0) result = SECCOMP_RET_TRAP;
  if (strcmp(action, "error") == 0) result = SECCOMP_RET_ERRNO | EPERM;
  if (strcmp(action, "only") == 0) result = SECCOMP_RET_ALLOW;
  load(offsetof(struct seccomp_data, nr));
  if (strcmp(action, "argument") == 0) {
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1,
				     0));
    give(SECCOMP_RET_ALLOW);
    load(IOCTL_REQUEST);
  }
  for (i = 0; i < count; i++) match((unsigned)atoi(list[i]), result);
  give(strcmp(action, "only") == 0 ? SECCOMP_RET_KILL_PROCESS :
       SECCOMP_RET_ALLOW);
}

int main(int argc, char **argv)
{
  struct sock_fprog program;
  int i = 2;
  if (argc < 4) return 2;
  while (argv[i] != NULL && strcmp(argv[i], "--") != 0) i++;
  if (argv[i] == NULL) return 2;
  make(argv[1], argv + 2, i - 2);
  program = (struct sock_fprog){ n, code };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  execvp(argv[i+1], argv + i + 1);
  return 1;
}
