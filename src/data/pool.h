/* SPDX-License-Identifier: MIT */
/*
** The memory of a child that was forked from a process with threads.
**
** One of these may have been in malloc at that moment: the child never gets
** malloc's lock. Here mp_malloc (data/mem.h) takes pages from the kernel
** instead, up to a limit. Large blocks are mappings of their own, small ones
** are only given back if they are the last.
*/
#ifndef MP_POOL_H
#define MP_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* From now on mp_malloc and the like take memory from here, that many bytes at
** most. Older blocks must not be freed. */
void mp_pool_begin(size_t limit);

/* Whether that was called. */
extern bool mp_pool_begun;
static inline bool mp_pool_used(void)
{
  return __builtin_expect(mp_pool_begun, 0);
}

void *mp_pool_alloc(size_t n);
void *mp_pool_realloc(void *p, size_t n);
void mp_pool_free(void *p);

#endif
