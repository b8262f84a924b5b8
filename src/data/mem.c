/* SPDX-License-Identifier: MIT */
/*
** See data/mem.h.
*/
#include "config.h"

#include <pthread.h>

#include "data/lock.h"
#include "data/mem.h"

int mp_mem_left = -1;

atomic_size_t mp_mem_bytes;

atomic_bool mp_mem_denying;
static _Atomic pthread_t denied;  /* That thread, while that is set. */

void mp_mem_deny(void)
{
  denied = pthread_self();
  mp_mem_denying = true;
}

void mp_mem_allow(void) { mp_mem_denying = false; }

bool mp_mem_refuses(void) { return pthread_equal(denied, pthread_self()); }

bool mp_mem_room(void *array, uint32_t index, uint32_t *cap, size_t size)
{
  uint64_t n = *cap ? *cap : 32;
  void *elements, *p;
  if (index < *cap) return true;
  do n *= 2; while (n <= index);
  if (n > UINT32_MAX) return false;
  mp_lock();
  /* A pointer is copied as bytes, as its type is the caller's. */
  memcpy(&elements, array, sizeof(elements));
  p = mp_realloc(elements, (size_t)n * size);
  if (p != NULL) {
    memcpy(array, &p, sizeof(p));
    *cap = (uint32_t)n;
  }
  mp_unlock();
  return p != NULL;
}

char *mp_mem_string(const char *s)
{
  size_t n = strlen(s) + 1;
  char *p = mp_malloc(n);
  return p != NULL ? memcpy(p, s, n) : NULL;
}
