/*
** The profiler's own memory: malloc's, which tests can make fail.
*/
#ifndef MP_MEM_H
#define MP_MEM_H

#include <stdbool.h>
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

/* What another thread may read when the process ends moves only inside of
** this (mp_capture_mutex); NULL: there is no other thread. */
extern void (*mp_mem_mutex)(bool lock);

static inline void *mp_grow(void **array, size_t n)
{
  void *p;
  if (mp_mem_mutex) mp_mem_mutex(true);
  p = mp_realloc(*array, n);
  if (p != NULL) *array = p;
  if (mp_mem_mutex) mp_mem_mutex(false);
  return p;
}

static inline void mp_free(void *p) { free(p); }

#endif
