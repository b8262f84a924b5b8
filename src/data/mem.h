/* SPDX-License-Identifier: MIT */
/*
** The profiler's own memory: malloc's, which tests can make fail. In a child
** that may not call malloc it is data/pool's.
*/
#ifndef MP_MEM_H
#define MP_MEM_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/pool.h"

/* Bytes of all blocks in use. */
extern atomic_size_t mp_mem_bytes;

/* Counts a block from malloc, which mp_free will free. */
static inline void *mp_mem_count(void *p)
{
  if (p != NULL) mp_mem_bytes += malloc_usable_size(p);
  return p;
}

/* Allocations that still succeed; negative: all of them. For tests. */
extern int mp_mem_left;

/* In a signal handler that may have interrupted malloc: until it is allowed
** again, this thread gets no memory. One thread at a time. */
void mp_mem_deny(void);
void mp_mem_allow(void);

/* Whether this thread is denied memory. Async-signal-safe. */
extern atomic_bool mp_mem_denying;
bool mp_mem_refuses(void);
static inline bool mp_mem_denied(void)
{
  return __builtin_expect(mp_mem_denying, 0) && mp_mem_refuses();
}

static inline bool mp_mem_fails(void)
{
  return mp_mem_denied() ||
	 (__builtin_expect(mp_mem_left >= 0, 0) && mp_mem_left-- <= 0);
}

static inline void *mp_malloc(size_t n)
{
  if (mp_mem_fails()) return NULL;
  return mp_pool_used() ? mp_pool_alloc(n) : mp_mem_count(malloc(n));
}

static inline void *mp_calloc(size_t n, size_t size)
{
  void *p;
  if (!mp_pool_used())
    return mp_mem_fails() ? NULL : mp_mem_count(calloc(n, size));
  p = size > 0 && n > SIZE_MAX / size ? NULL : mp_malloc(n * size);
  return p != NULL ? memset(p, 0, n * size) : NULL;
}

/* Of n bytes, a multiple of align, which is a power of two. */
static inline void *mp_aligned_alloc(size_t align, size_t n)
{
  return mp_mem_fails() ? NULL : mp_mem_count(aligned_alloc(align, n));
}

static inline void *mp_realloc(void *p, size_t n)
{
  size_t before;
  void *q;
  if (mp_pool_used()) return mp_mem_fails() ? NULL : mp_pool_realloc(p, n);
  before = malloc_usable_size(p);
  q = mp_mem_fails() ? NULL : realloc(p, n);
  if (q != NULL) mp_mem_bytes -= before;
  return mp_mem_count(q);
}

/* Grows an array of *cap elements of that size, by doubling, until the index
** is valid. The first argument is the address of the pointer to its elements,
** whose type may be any. False: no memory, and nothing has changed. The array
** moves under the lock (data/lock.h): another thread may read it when the
** process ends. */
bool mp_mem_room(void *array, uint32_t index, uint32_t *cap, size_t size);

/* A copy of the string. NULL: no memory. */
char *mp_mem_string(const char *s);

/* Bytes that the array will have taken once the index is valid. */
static inline size_t mp_mem_after(uint32_t index, uint32_t cap, size_t size)
{
  uint64_t n = cap ? cap : 32;
  while (index >= n || (cap == 0 && n == 32)) n *= 2;
  return (size_t)n * size;
}

static inline void mp_free(void *p)
{
  if (mp_pool_used()) {
    mp_pool_free(p);
    return;
  }
  mp_mem_bytes -= malloc_usable_size(p);
  free(p);
}

#endif
