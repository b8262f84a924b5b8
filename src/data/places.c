/* SPDX-License-Identifier: MIT */
/*
** Numbers for addresses. See data/places.h.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "data/places.h"

#define SLOTS_MIN	256u	/* A power of two. */

static uint32_t find_slot(const mp_places *p, uint64_t page)
{
  uint32_t i = (uint32_t)mp_mix(0, page) & p->mask;
  while (p->slots[i] != 0 && p->pages[p->slots[i] - 1].page != page)
    i = (i + 1) & p->mask;
  return i;
}

static void fill_slots(mp_places *p)
{
  uint32_t i;
  memset(p->slots, 0, ((size_t)p->mask + 1) * sizeof(*p->slots));
  for (i = 0; i < p->npages; i++)
    p->slots[find_slot(p, p->pages[i].page)] = i + 1;
}

static bool grow_slots(mp_places *p)
{
  uint32_t n = p->slots ? (p->mask + 1) * 2 : SLOTS_MIN;
  uint32_t *slots = n ? mp_malloc((size_t)n * sizeof(*slots)) : NULL;
  if (slots == NULL) return false;
  mp_free(p->slots);
  p->slots = slots;
  p->mask = n - 1;
  fill_slots(p);
  return true;
}

/* The page, made if it is new. */
static mp_place *get_page(mp_places *p, uint64_t page)
{
  uint32_t i;
  if (p->last < p->npages && p->pages[p->last].page == page)
    return &p->pages[p->last];
  if ((p->slots == NULL || p->npages >= p->mask / 2) && !grow_slots(p))
    return NULL;
  i = find_slot(p, page);
  if (p->slots[i] == 0) {
    void *pages = p->pages;
    if (!mp_mem_room(&pages, p->npages, &p->cappages, sizeof(*p->pages)))
      return NULL;
    p->pages = pages;
    memset(&p->pages[p->npages], 0, sizeof(*p->pages));
    p->pages[p->npages].page = page;
    p->slots[i] = ++p->npages;
  }
  p->last = p->slots[i] - 1;
  return &p->pages[p->last];
}

bool mp_places_add(mp_places *p, const void *addr)
{
  uint64_t a = (uint64_t)(uintptr_t)addr;
  mp_place *pg = get_page(p, a >> MP_PLACES_BITS);
  if (pg == NULL) return false;
  pg->bits[a >> 9 & (MP_PLACES_WORDS - 1)] |= UINT64_C(1) << (a >> 3 & 63);
  return true;
}

static int by_page(const void *a, const void *b)
{
  uint64_t x = ((const mp_place *)a)->page, y = ((const mp_place *)b)->page;
  return x < y ? -1 : x > y;
}

/* Notes for numbers at regular distances the page that they lie in. */
static bool make_hints(mp_places *p)
{
  uint32_t n = (p->count >> MP_PLACES_HINT) + 1, i, page = 0;
  p->hints = mp_malloc((size_t)n * sizeof(*p->hints));
  if (p->hints == NULL) return false;
  for (i = 0; i < n; i++) {
    while (page + 1 < p->npages &&
	   p->pages[page + 1].first < i << MP_PLACES_HINT)
      page++;
    p->hints[i] = page;
  }
  return true;
}

bool mp_places_close(mp_places *p)
{
  uint64_t n = 0;
  uint32_t i, w;
  if (p->npages == 0) return true;
  qsort(p->pages, p->npages, sizeof(*p->pages), by_page);
  fill_slots(p);
  for (i = 0; i < p->npages; i++) {
    mp_place *pg = &p->pages[i];
    uint16_t here = 0;
    pg->first = (uint32_t)n;
    for (w = 0; w < MP_PLACES_WORDS; w++) {
      pg->before[w] = here;
      here = (uint16_t)(here + mp_places_bits(pg->bits[w]));
    }
    n += here;
    if (n >= UINT32_MAX) return false;
  }
  p->count = (uint32_t)n;
  return make_hints(p);
}

const mp_place *mp_places_page(mp_places *p, uint64_t page)
{
  uint32_t i;
  if (p->last < p->npages && p->pages[p->last].page == page)
    return &p->pages[p->last];
  if (p->slots == NULL) return NULL;
  i = p->slots[find_slot(p, page)];
  if (i == 0) return NULL;
  p->last = i - 1;
  return &p->pages[i - 1];
}

static const void *bit_address(const mp_place *pg, uint32_t w, uint64_t bits)
{
  return (const void *)(uintptr_t)(pg->page << MP_PLACES_BITS |
    (uint64_t)w << 9 | (uint64_t)__builtin_ctzll(bits) << 3);
}

const void *mp_places_address(const mp_places *p, uint32_t number)
{
  uint32_t page = p->hints[number >> MP_PLACES_HINT];
  uint32_t w = MP_PLACES_WORDS - 1, left;
  const mp_place *pg;
  uint64_t bits;
  while (page + 1 < p->npages && p->pages[page + 1].first < number) page++;
  pg = &p->pages[page];
  left = number - pg->first - 1;
  while (pg->before[w] > left) w--;
  left -= pg->before[w];
  for (bits = pg->bits[w]; left > 0; left--) bits &= bits - 1;
  return bit_address(pg, w, bits);
}

void mp_places_each(const mp_places *p,
		    void (*f)(void *ud, uint32_t number, const void *addr),
		    void *ud)
{
  uint32_t i, w, n = 0;
  for (i = 0; i < p->npages; i++)
    for (w = 0; w < MP_PLACES_WORDS; w++) {
      uint64_t bits = p->pages[i].bits[w];
      for (; bits != 0; bits &= bits - 1)
	f(ud, ++n, bit_address(&p->pages[i], w, bits));
    }
}

uint64_t mp_places_memory(const mp_places *p)
{
  return (uint64_t)p->cappages * sizeof(*p->pages) +
	 (p->slots ? ((uint64_t)p->mask + 1) * sizeof(*p->slots) : 0) +
	 ((uint64_t)p->count >> MP_PLACES_HINT) * sizeof(*p->hints);
}

void mp_places_free(mp_places *p)
{
  mp_free(p->pages);
  mp_free(p->slots);
  mp_free(p->hints);
  memset(p, 0, sizeof(*p));
}
