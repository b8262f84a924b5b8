/* SPDX-License-Identifier: MIT */
/*
** See vm/low.h.
*/
#include "config.h"

#include "data/mem.h"
#include "vm/layout.h"
#include "vm/low.h"

#if (defined(MP_REFS32) && defined(__x86_64__)) || defined(__aarch64__)

#include <sys/mman.h>

static void *map(uintptr_t hint, size_t size, int flags)
{
  return mmap((void *)hint, size, PROT_READ | PROT_WRITE,
	      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

#ifdef __aarch64__

#define LIMIT	47		/* Bits of an address, at most. */
#define TRIES	63
#define APART	41		/* Bits between two tries. */

static void *map_low(size_t size)
{
  uintptr_t i;
  for (i = 1; i <= TRIES; i++) {
    void *p = map(i << APART, size, 0);
    if (p == MAP_FAILED || ((uintptr_t)p + size) >> LIMIT == 0) return p;
    munmap(p, size);
  }
  return MAP_FAILED;
}

#else

static void *map_low(size_t size) { return map(0, size, MAP_32BIT); }

#endif

void *mp_low_alloc(size_t size)
{
  void *p = mp_mem_fails() ? MAP_FAILED : map_low(size);
  if (p == MAP_FAILED) return NULL;
  mp_mem_bytes += size;
  return p;
}

void mp_low_free(void *p, size_t size)
{
  if (p == NULL) return;
  mp_mem_bytes -= size;
  munmap(p, size);
}

#else

void *mp_low_alloc(size_t size) { return mp_calloc(1, size); }

void mp_low_free(void *p, size_t size)
{
  (void)size;
  mp_free(p);
}

#endif
