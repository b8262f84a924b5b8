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
#include "data/usage.h"

#define SLOTS_MIN	256u	/* A power of two. */

/* -- Blocks -------------------------------------------------------------- */

static uint32_t find_slot(const mp_places *p, uint64_t key)
{
  uint32_t i = (uint32_t)mp_mix(0, key) & p->mask;
  while (p->slots[i] != NULL && p->slots[i]->key != key)
    i = (i + 1) & p->mask;
  return i;
}

static bool grow_slots(mp_places *p)
{
  uint32_t n = p->slots ? (p->mask + 1) * 2 : SLOTS_MIN, i;
  mp_placeblock **slots = n ? mp_calloc(n, sizeof(*slots)) : NULL;
  if (slots == NULL) return false;
  mp_free(p->slots);
  p->slots = slots;
  p->mask = n - 1;
  for (i = 0; i < p->nblocks; i++)
    p->slots[find_slot(p, p->blocks[i]->key)] = p->blocks[i];
  return true;
}

/* The memory of the next block. Chunk i has 2^i blocks: the blocks of a large
** heap, which are visited in no order, lie in large pages. */
static mp_placeblock *next_block(mp_places *p)
{
  uint32_t i = p->nchunks, before = (UINT32_C(1) << i) - 1;
  if (p->nblocks == before) {
    size_t n = (size_t)1 << i;
    p->chunks[i] = mp_calloc(n, sizeof(**p->chunks));
    if (p->chunks[i] == NULL) return NULL;
    mp_usage_large(p->chunks[i], n * sizeof(**p->chunks));
    p->nchunks++;
  } else {
    before >>= 1;
    i--;
  }
  return &p->chunks[i][p->nblocks - before];
}

static mp_placeblock *new_block(mp_places *p, uint64_t key)
{
  mp_placeblock *b;
  if (!mp_mem_room(&p->blocks, p->nblocks, &p->capblocks, sizeof(*p->blocks)))
    return NULL;
  b = next_block(p);
  if (b == NULL) return NULL;
  b->key = key;
  return p->blocks[p->nblocks++] = b;
}

/* The block, made if it is new. */
static mp_placeblock *get_block(mp_places *p, uint64_t key)
{
  uint32_t i;
  if (p->last != NULL && p->last->key == key) return p->last;
  if ((p->slots == NULL || p->nblocks >= p->mask / 4) && !grow_slots(p))
    return NULL;
  i = find_slot(p, key);
  if (p->slots[i] == NULL) p->slots[i] = new_block(p, key);
  if (p->slots[i] != NULL) p->last = p->slots[i];
  return p->slots[i];
}

const mp_placeblock *mp_places_block(mp_places *p, uint64_t key)
{
  mp_placeblock *b = p->last;
  if (b != NULL && b->key == key) return b;
  b = p->slots != NULL ? p->slots[find_slot(p, key)] : NULL;
  if (b != NULL) p->last = b;
  return b;
}

/* -- Addresses ----------------------------------------------------------- */

/* Makes the oldest addition, if there is one, and puts another in its place. */
static void put_ahead(mp_places *p, mp_placeword *word, uint64_t bit)
{
  uint32_t i = p->at++ & (MP_PLACES_AHEAD - 1);
  mp_placeword *old = p->ahead[i].word;
  if (old != NULL) {
    old->bits[0] |= (uint32_t)p->ahead[i].bit;
    old->bits[1] |= (uint32_t)(p->ahead[i].bit >> 32);
  }
  p->ahead[i].word = word;
  p->ahead[i].bit = bit;
}

bool mp_places_add(mp_places *p, const void *addr)
{
  uint64_t a = (uint64_t)(uintptr_t)addr;
  mp_placeblock *b = get_block(p, a >> MP_PLACES_BITS);
  mp_placeword *w;
  if (b == NULL) return false;
  w = &b->words[a >> MP_PLACES_WORD & (MP_PLACES_WORDS - 1)];
  __builtin_prefetch(w, 1);
  put_ahead(p, w, UINT64_C(1) << (a >> 3 & 63));
  return true;
}

/* Lets the block at i sink in the heap of n blocks, whose top is largest. */
static void sink(mp_placeblock **b, uint32_t i, uint32_t n)
{
  mp_placeblock *sinking = b[i];
  uint32_t below;
  while ((below = 2 * i + 1) < n) {
    if (below + 1 < n && b[below + 1]->key > b[below]->key) below++;
    if (b[below]->key <= sinking->key) break;
    b[i] = b[below];
    i = below;
  }
  b[i] = sinking;
}

/* qsort may take memory from malloc, which a child may not call. */
static void sort(mp_placeblock **b, uint32_t n)
{
  mp_placeblock *first;
  uint32_t i;
  for (i = n / 2; i > 0; i--) sink(b, i - 1, n);
  for (i = n - 1; i > 0; i--) {
    first = b[0];
    b[0] = b[i];
    b[i] = first;
    sink(b, 0, i);
  }
}

/* Notes for numbers at regular distances the word that they lie in. */
static bool make_hints(mp_places *p)
{
  uint32_t n = (p->count >> MP_PLACES_HINT) + 1, i = 0, b, w;
  p->hints = mp_malloc((size_t)n * sizeof(*p->hints));
  if (p->hints == NULL) return false;
  for (b = 0; b < p->nblocks; b++)
    for (w = 0; w < MP_PLACES_WORDS; w++) {
      const mp_placeword *word = &p->blocks[b]->words[w];
      uint32_t end = word->before + mp_places_bits(mp_places_word(word));
      for (; i < n && i << MP_PLACES_HINT <= end; i++)
	p->hints[i] = b * MP_PLACES_WORDS + w;
    }
  return true;
}

bool mp_places_close(mp_places *p)
{
  uint64_t n = 0;
  uint32_t b, w;
  for (b = 0; b < MP_PLACES_AHEAD; b++) put_ahead(p, NULL, 0);
  if (p->nblocks == 0) return true;
  sort(p->blocks, p->nblocks);
  for (b = 0; b < p->nblocks; b++)
    for (w = 0; w < MP_PLACES_WORDS; w++) {
      mp_placeword *word = &p->blocks[b]->words[w];
      word->before = (uint32_t)n;
      n += mp_places_bits(mp_places_word(word));
      if (n >= UINT32_MAX) return false;
    }
  p->count = (uint32_t)n;
  return make_hints(p);
}

static const void *bit_address(const mp_placeblock *b, uint32_t w,
			       uint64_t bits)
{
  return (const void *)(uintptr_t)(b->key << MP_PLACES_BITS |
    (uint64_t)w << MP_PLACES_WORD | (uint64_t)__builtin_ctzll(bits) << 3);
}

const void *mp_places_address(const mp_places *p, uint32_t number)
{
  uint32_t hint = p->hints[number >> MP_PLACES_HINT], left;
  uint32_t b = hint / MP_PLACES_WORDS, w = hint % MP_PLACES_WORDS;
  const mp_placeword *words;
  uint64_t bits;
  for (; b + 1 < p->nblocks && p->blocks[b + 1]->words[0].before < number; b++)
    w = 0;
  words = p->blocks[b]->words;
  while (w + 1 < MP_PLACES_WORDS && words[w + 1].before < number) w++;
  left = number - words[w].before - 1;
  for (bits = mp_places_word(&words[w]); left > 0; left--) bits &= bits - 1;
  return bit_address(p->blocks[b], w, bits);
}

void mp_places_each(const mp_places *p,
		    void (*f)(void *ud, uint32_t number, const void *addr),
		    void *ud)
{
  uint32_t b, w, n = 0;
  for (b = 0; b < p->nblocks; b++)
    for (w = 0; w < MP_PLACES_WORDS; w++) {
      uint64_t bits = mp_places_word(&p->blocks[b]->words[w]);
      for (; bits != 0; bits &= bits - 1)
	f(ud, ++n, bit_address(p->blocks[b], w, bits));
    }
}

uint64_t mp_places_memory(const mp_places *p)
{
  return (uint64_t)p->nblocks * sizeof(**p->blocks) +
	 (uint64_t)p->capblocks * sizeof(*p->blocks) +
	 (p->slots ? ((uint64_t)p->mask + 1) * sizeof(*p->slots) : 0) +
	 ((uint64_t)p->count >> MP_PLACES_HINT) * sizeof(*p->hints);
}

void mp_places_free(mp_places *p)
{
  uint32_t i;
  for (i = 0; i < p->nchunks; i++) mp_free(p->chunks[i]);
  mp_free(p->blocks);
  mp_free(p->slots);
  mp_free(p->hints);
  memset(p, 0, sizeof(*p));
}
