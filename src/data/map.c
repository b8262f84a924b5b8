/* SPDX-License-Identifier: MIT */
/*
** A hash map from 64-bit keys to 32-bit values. See data/map.h.
*/
#include "config.h"

#include <string.h>

#include "data/map.h"
#include "data/mem.h"

#define SLOTS_MIN 64u		/* A power of two. */

uint32_t mp_map_get(const mp_map *m, uint64_t key)
{
  uint32_t i;
  if (m->vals == NULL) return 0;
  for (i = (uint32_t)key & m->mask; m->vals[i] != 0; i = (i + 1) & m->mask)
    if (m->keys[i] == key) return m->vals[i];
  return 0;
}

/* The slot of a key, or the empty one where it belongs. */
static uint32_t find_slot(const mp_map *m, uint64_t key)
{
  uint32_t i = (uint32_t)key & m->mask;
  while (m->vals[i] != 0 && m->keys[i] != key) i = (i + 1) & m->mask;
  return i;
}

static bool grow(mp_map *m)
{
  uint32_t i, n = m->vals ? (m->mask + 1) * 2 : SLOTS_MIN;
  mp_map big;
  if (n == 0) return false;  /* 2^32 slots. */
  big.keys = mp_malloc((size_t)n * sizeof(*big.keys));
  big.vals = mp_calloc(n, sizeof(*big.vals));
  big.mask = n - 1;
  big.count = m->count;
  if (big.keys == NULL || big.vals == NULL) {
    mp_free(big.keys);
    mp_free(big.vals);
    return false;
  }
  for (i = 0; m->vals != NULL && i <= m->mask; i++)
    if (m->vals[i] != 0) {
      uint32_t j = find_slot(&big, m->keys[i]);
      big.keys[j] = m->keys[i];
      big.vals[j] = m->vals[i];
    }
  mp_map_free(m);
  *m = big;
  return true;
}

bool mp_map_reserve(mp_map *m)
{
  return (m->vals != NULL && m->count < m->mask / 4 * 3) || grow(m);
}

bool mp_map_put(mp_map *m, uint64_t key, uint32_t val)
{
  uint32_t i;
  /* A replacement needs no room. */
  if (mp_map_get(m, key) == 0 && !mp_map_reserve(m)) return false;
  i = find_slot(m, key);
  if (m->vals[i] == 0) m->count++;
  m->keys[i] = key;
  m->vals[i] = val;
  return true;
}

size_t mp_map_after(const mp_map *m, uint32_t more)
{
  uint64_t n = m->vals ? (uint64_t)m->mask + 1 : SLOTS_MIN;
  while ((uint64_t)m->count + more >= n / 4 * 3) n *= 2;
  return (size_t)n * (sizeof(*m->keys) + sizeof(*m->vals));
}

void mp_map_clear(mp_map *m)
{
  if (m->vals != NULL)
    memset(m->vals, 0, ((size_t)m->mask + 1) * sizeof(*m->vals));
  m->count = 0;
}

void mp_map_free(mp_map *m)
{
  mp_free(m->keys);
  mp_free(m->vals);
  memset(m, 0, sizeof(*m));
}
