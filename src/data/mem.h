/* SPDX-License-Identifier: MIT */
/*
** The profiler's own memory: malloc's, which tests can make fail.
*/
#ifndef MP_MEM_H
#define MP_MEM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Allocations that still succeed; negative: all of them. For tests. */
extern int mp_mem_left;

static inline bool mp_mem_fails(void)
{
  return __builtin_expect(mp_mem_left >= 0, 0) && mp_mem_left-- <= 0;
}

static inline void *mp_malloc(size_t n)
{
  return mp_mem_fails() ? NULL : malloc(n);
}

static inline void *mp_calloc(size_t n, size_t size)
{
  return mp_mem_fails() ? NULL : calloc(n, size);
}

static inline void *mp_realloc(void *p, size_t n)
{
  return mp_mem_fails() ? NULL : realloc(p, n);
}

/* Grows an array of *cap elements of that size, by doubling, until the index
** is valid. False: no memory, and nothing has changed. The array moves under
** the lock (data/lock.h): another thread may read it when the process ends. */
bool mp_mem_room(void **array, uint32_t index, uint32_t *cap, size_t size);

static inline void mp_free(void *p) { free(p); }

#endif
