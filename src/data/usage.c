/* SPDX-License-Identifier: MIT */
/*
** See data/usage.h.
*/
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "data/mem.h"
#include "data/usage.h"

#define HUGE		((uintptr_t)1 << 21)

void mp_usage_large(void *p, size_t size)
{
  uintptr_t from = ((uintptr_t)p + HUGE - 1) & ~(HUGE - 1);
  uintptr_t to = ((uintptr_t)p + size) & ~(HUGE - 1);
  if (to > from) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void *mp_usage_take(mp_usage *u, uint64_t n, size_t size)
{
  void *p = n <= SIZE_MAX / size ? mp_malloc((size_t)n * size + 1) : NULL;
  if (p == NULL) {
    u->failed = true;
    return NULL;
  }
  u->now += n * size;
  if (u->now > u->peak) u->peak = u->now;
  mp_usage_large(p, (size_t)n * size);
  return p;
}

uint32_t *mp_usage_numbers(mp_usage *u, uint64_t n)
{
  uint32_t *p = mp_usage_take(u, n, sizeof(*p));
  if (p != NULL) memset(p, 0, (size_t)n * sizeof(*p));
  return p;
}

void mp_usage_give(mp_usage *u, void *p, uint64_t n, size_t size)
{
  if (p != NULL) u->now -= n * size;
  mp_free(p);
}

bool mp_list_room(mp_usage *u, mp_list *l, uint64_t more)
{
  uint64_t cap = l->cap ? l->cap : 1024;
  void *p;
  if (l->n + more <= l->cap) return true;
  while (cap < l->n + more) cap += cap / 2;
  p = cap <= SIZE_MAX / 4 ? mp_realloc(l->a, (size_t)cap * 4) : NULL;
  if (p == NULL) {
    u->failed = true;
    return false;
  }
  u->now += (cap - l->cap) * 4;
  if (u->now > u->peak) u->peak = u->now;
  l->a = p;
  l->cap = cap;
  return true;
}

void mp_list_free(mp_usage *u, mp_list *l)
{
  mp_usage_give(u, l->a, l->cap, sizeof(*l->a));
  *l = (mp_list){ NULL, 0, 0 };
}
