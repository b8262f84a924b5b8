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

#define PAGE	4096u		/* Or more. */
#define PAGES	64u		/* Looked at by one call. */

/* The same of one byte of each of so many pages. */
static bool are_readable(const char *page, unsigned long n)
{
  char bytes[PAGES];
  struct iovec here = { bytes, n }, there[PAGES];
  const unsigned long one = 1, flags = 0;
  int saved = errno;
  unsigned long i;
  long got;
  for (i = 0; i < n; i++)
    there[i] = (struct iovec){ (char *)(size_t)page + i * PAGE, 1 };
  got = syscall(SYS_process_vm_readv, mp_process_self(), &here, one, there, n,
		flags);
  for (i = 0; got < 0 && errno != EFAULT && i < n; i++)
    if (!mp_readable(page + i * PAGE)) break;
  if (got < 0 && errno != EFAULT && i == n) got = (long)n;
  errno = saved;
  return got == (long)n;
}

bool mp_readable_all(const void *p, size_t n)
{
  const char *page = (const char *)((size_t)p & ~(size_t)(PAGE - 1));
  size_t pages = ((size_t)p + n - 1) / PAGE - (size_t)page / PAGE + 1;
  for (; pages > PAGES; pages -= PAGES, page += PAGES * PAGE)
    if (!are_readable(page, PAGES)) return false;
  return are_readable(page, pages);
}
