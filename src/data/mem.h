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

/* Sees to it that an array of *cap elements of that size has one with that
** index; it doubles. False: no memory, and nothing has changed. */
bool mp_mem_room(void **array, uint32_t index, uint32_t *cap, size_t size);

/* Arrays that another thread may read when the process ends move only inside
** of this (mp_capture_mutex); NULL: there is no other thread. */
extern void (*mp_mem_mutex)(bool lock);

static inline void mp_free(void *p) { free(p); }

#endif
