/* SPDX-License-Identifier: MIT */
/*
** Memory that runs out, for t/attack/memory.lua: preloaded, this refuses some
** of the process's calls of malloc and mmap, counted from its start.
** Environment:
**   MP_FAIL_CALLS	malloc (its relatives, too), mmap, or both
**   MP_FAIL_FROM	number of the first call that is refused; 0: none is
**   MP_FAIL_N		how many in succession
**   MP_FAIL_COUNT	file that gets the number of calls at a normal end
** The process itself may begin anew with mp_fail_again (t/attack/starved.lua).
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t k, size_t n);
extern void *__libc_realloc(void *p, size_t n);

static atomic_ulong calls;
static unsigned long from, many;
static bool of_malloc, of_mmap, ready;
static __thread bool spared;

static bool refused(bool counted)
{
  unsigned long n;
  if (!counted || !ready || spared) return false;
  n = atomic_fetch_add(&calls, 1) + 1;
  if (from == 0 || n < from || n - from >= many) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t n)
{
  return refused(of_malloc) ? NULL : __libc_malloc(n);
}

void *calloc(size_t k, size_t n)
{
  return refused(of_malloc) ? NULL : __libc_calloc(k, n);
}

void *realloc(void *p, size_t n)
{
  return refused(of_malloc) ? NULL : __libc_realloc(p, n);
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
  if (refused(of_mmap)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, at);
}

void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t at)
{
  return mmap(p, n, prot, flags, fd, at);
}

/* libgcc's function, which LuaJIT calls for machine code, does not look at what
** malloc returns. */
void __register_frame(void *p)
{
  static void (*real)(void *);
  spared = true;
  if (real == NULL)
    real = (void (*)(void *))dlsym(RTLD_NEXT, "__register_frame");
  if (real != NULL) real(p);
  spared = false;
}

static unsigned long number(const char *name)
{
  const char *s = getenv(name);
  return s != NULL ? strtoul(s, NULL, 10) : 0;
}

unsigned long mp_fail_again(unsigned long first, unsigned long n);

/* Counts anew, with other calls that are refused. Returns the calls so far. */
unsigned long mp_fail_again(unsigned long first, unsigned long n)
{
  from = 0;
  many = n;
  n = atomic_exchange(&calls, 0);
  from = first;
  return n;
}

__attribute__((constructor)) static void begin(void)
{
  const char *what = getenv("MP_FAIL_CALLS");
  if (what == NULL) return;
  of_malloc = strcmp(what, "mmap") != 0;
  of_mmap = strcmp(what, "malloc") != 0;
  from = number("MP_FAIL_FROM");
  many = number("MP_FAIL_N");
  unsetenv("LD_PRELOAD");
  ready = true;
}

__attribute__((destructor)) static void end(void)
{
  const char *name = getenv("MP_FAIL_COUNT");
  FILE *fp;
  ready = false;
  if (name == NULL || (fp = fopen(name, "w")) == NULL) return;
  fprintf(fp, "%lu\n", atomic_load(&calls));
  fclose(fp);
}
