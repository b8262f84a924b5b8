/* SPDX-License-Identifier: MIT */
/*
** See vm/low.h.
*/
#include "config.h"

#include "data/mem.h"
#include "vm/layout.h"
#include "vm/low.h"

#if defined(MP_REFS32) && defined(__x86_64__)

#include <sys/mman.h>

void *mp_low_alloc(size_t size)
{
  void *p = mp_mem_fails() ? MAP_FAILED :
    mmap(NULL, size, PROT_READ | PROT_WRITE,
	 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
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
