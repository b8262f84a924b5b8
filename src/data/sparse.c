/* SPDX-License-Identifier: MIT */
/*
** A hash table from addresses to ids. See data/sparse.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "data/sparse.h"

#define BITS_MIN	8u	/* Of a slot's number, at first, */
#define BITS_MAX	31u	/* and at most. */

static inline uintptr_t invert(const void *addr) { return ~(uintptr_t)addr; }

static inline const void *addr_of(const mp_sparseslot *s)
{
  return (const void *)~s->not;
}

static uint32_t mask_of(const mp_sparse *t)
{
  return UINT32_MAX >> (t->shift - 32);
}

/* The number of the slot where the search for an address begins. */
static uint32_t home(const mp_sparse *t, const void *addr)
{
  uint64_t h = (uint64_t)(uintptr_t)addr * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> t->shift);
}

/* The number of an address's slot, or of the empty one where it belongs. */
static uint32_t find(const mp_sparse *t, const void *addr)
{
  uint32_t i = home(t, addr), mask = mask_of(t);
  uintptr_t not = invert(addr);
  while (t->slots[i].id != 0 && t->slots[i].not != not) i = (i + 1) & mask;
  return i;
}

/* Makes a table of 2^bits slots. */
static bool resize(mp_sparse *t, uint32_t bits)
{
  mp_sparse big = { NULL, t->count, 64 - bits };
  uint32_t i, n = t->slots != NULL ? mask_of(t) + 1 : 0;
  if (bits > BITS_MAX) return false;
  big.slots = mp_calloc((size_t)1 << bits, sizeof(*big.slots));
  if (big.slots == NULL) return false;
  for (i = 0; i < n; i++)
    if (t->slots[i].id != 0)
      big.slots[find(&big, addr_of(&t->slots[i]))] = t->slots[i];
  mp_free(t->slots);
  *t = big;
  return true;
}

bool mp_sparse_init(mp_sparse *t)
{
  return resize(t, BITS_MIN);
}

uint32_t mp_sparse_put(mp_sparse *t, const void *addr, uint32_t id)
{
  mp_sparseslot *s = &t->slots[find(t, addr)];
  uint32_t old = s->id;
  if (old == 0) {
    if (t->count > mask_of(t) / 2) {
      if (!resize(t, 64 - t->shift + 1)) return MP_SPARSE_NOMEM;
      s = &t->slots[find(t, addr)];
    }
    t->count++;
  }
  *s = (mp_sparseslot){ invert(addr), id };
  return old;
}

uint32_t mp_sparse_get(const mp_sparse *t, const void *addr)
{
  return t->slots[find(t, addr)].id;
}

/* Empties a slot and moves those behind it up, so that no search stops at
** the gap too early. */
static void empty(mp_sparse *t, uint32_t i)
{
  uint32_t j = i, mask = mask_of(t);
  for (;;) {
    j = (j + 1) & mask;
    if (t->slots[j].id == 0) break;
    if (((j - home(t, addr_of(&t->slots[j]))) & mask) >= ((j - i) & mask)) {
      t->slots[i] = t->slots[j];
      i = j;
    }
  }
  t->slots[i].id = 0;
}

uint32_t mp_sparse_take(mp_sparse *t, const void *addr)
{
  uint32_t i = find(t, addr), id = t->slots[i].id;
  if (id == 0) return 0;
  empty(t, i);
  t->count--;
  return id;
}

void mp_sparse_each(const mp_sparse *t, mp_sparse_see *f, void *data)
{
  uint32_t i, mask = mask_of(t);
  for (i = 0; i <= mask; i++) {
    const mp_sparseslot *s = &t->slots[i];
    if (s->id != 0) f(data, addr_of(s), s->id);
  }
}

size_t mp_sparse_memory(const mp_sparse *t)
{
  return ((size_t)mask_of(t) + 1) * sizeof(*t->slots);
}

void mp_sparse_free(mp_sparse *t)
{
  mp_free(t->slots);
  memset(t, 0, sizeof(*t));
}
