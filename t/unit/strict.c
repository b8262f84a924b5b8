/* SPDX-License-Identifier: MIT */
/* mp_strict: what a child that has confined itself can do. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"
#include "data/strict.h"

#define UNABLE	77		/* The system does not have it. */

/* Runs f in a child that has confined itself, and returns its exit status. */
static int confined(int (*f)(void))
{
  int status;
  pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) _exit(mp_strict_begin() ? f() : UNABLE);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* Valgrind and the sanitizers make system calls of their own. */
static bool can_be(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return getenv("MP_TEST_SLOW") == NULL;
#endif
}

static void check(int (*f)(void))
{
  int status = can_be() ? confined(f) : UNABLE;
  if (status != UNABLE) ck_assert_int_eq(status, 0);
}

static int use_memory(void)
{
  size_t n = (size_t)1 << 22;
  struct timespec now;
  char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
  if (p == MAP_FAILED) return 1;
  memset(p, 1, n);
  if (madvise(p, n, MADV_DONTNEED) != 0 || p[n - 1] != 0) return 2;
  p = mremap(p, n, 2 * n, MREMAP_MAYMOVE);
  if (p == MAP_FAILED) return 3;
  p[2 * n - 1] = 1;
  if (munmap(p, 2 * n) != 0) return 4;
  return clock_gettime(CLOCK_MONOTONIC, &now) != 0;
}

START_TEST(memory_and_the_clock_are_there)
{
  check(use_memory);
}
END_TEST

static int descriptor;		/* Of a file that is open. */

/* Returns 0 if each of these fails, and the number of one that does not. */
static int try_others(void)
{
  char c = 0;
  long got[] = {
    open("/dev/null", O_RDONLY), write(descriptor, &c, 1),
    read(descriptor, &c, 1), close(descriptor), dup(descriptor),
    kill(getppid(), 0), (long)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0),
    socket(AF_UNIX, SOCK_STREAM, 0), unlink("/nonexistent/file"),
    (long)syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0),
    (long)syscall(SYS_ptrace, 0, 0, 0, 0)
  };
  size_t i;
  for (i = 0; i < sizeof(got) / sizeof(got[0]); i++)
    if (got[i] != -1 || errno != EPERM) return (int)i + 1;
  return 0;
}

START_TEST(all_else_fails)
{
  descriptor = open("/dev/null", O_RDWR);
  ck_assert_int_ge(descriptor, 0);
  check(try_others);
  close(descriptor);
}
END_TEST

/* The process that it was forked from is not confined. */
START_TEST(the_parent_is_free)
{
  int fd;
  check(use_memory);
  fd = open("/dev/null", O_RDONLY);
  ck_assert_int_ge(fd, 0);
  close(fd);
}
END_TEST

CHECK_MAIN("strict", memory_and_the_clock_are_there, all_else_fails,
	   the_parent_is_free)
