/* SPDX-License-Identifier: MIT */
/*
** Reading memory that may not be there. See vm/peek.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "data/process.h"
#include "vm/peek.h"

/* Reads through a pipe, for when a filter of system calls forbids the other
** way. The pipe is not written to by write(), which AddressSanitizer would
** report as an error. */
__attribute__((noinline))
static bool peek_by_pipe(void *to, const void *from, size_t n)
{
  int fd[2];
  bool ok;
  if (pipe2(fd, O_CLOEXEC) != 0) return false;
  ok = syscall(SYS_write, fd[1], from, n) == (long)n &&
       read(fd[0], to, n) == (ssize_t)n;
  close(fd[0]);
  close(fd[1]);
  return ok;
}

/* The flags are passed on the stack, where clang leaves the upper half of an
** int undefined: the numbers must be as wide as the kernel reads them. */
__attribute__((noinline))
bool mp_peek(void *to, const void *from, size_t n)
{
  struct iovec here = { to, n }, there = { (void *)(size_t)from, n };
  const unsigned long one = 1, flags = 0;
  int saved = errno;
  long got = syscall(SYS_process_vm_readv, mp_process_self(), &here, one,
		     &there, one, flags);
  bool ok = got == (long)n;
  if (got < 0 && errno != EFAULT)
    ok = peek_by_pipe(to, from, n);
  errno = saved;
  return ok;
}

bool mp_readable(const void *p)
{
  char c;
  return mp_peek(&c, p, 1);
}
