/* SPDX-License-Identifier: MIT */
/*
** A stack's key. See vm/walk.h.
*/
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/walk.h"

static mp_callsite *site_slot(mp_walk *k, uint64_t pc)
{
  return &k->sites[pc >> 2 & (MP_WALK_SITES - 1)];
}

void mp_walk_site(mp_walk *k, uint64_t pc, uint64_t id)
{
  *site_slot(k, pc) = (mp_callsite){ pc, id };
}

void mp_walk_free(mp_walk *k)
{
  mp_free(k->slots);
  mp_free(k->links);
  mp_free(k->levels);
  mp_free(k->specials);
  mp_free(k->blocks);
  mp_free(k->fresh);
  memset(k, 0, sizeof(*k));
}

void mp_walk_forget(mp_walk *k)
{
  memset(k->sites, 0, sizeof(k->sites));
  mp_walk_collected(k);
}

#ifdef MP_LAYOUT

/* One more word of a key: a polynomial, cheap because it waits for nothing
** but the multiplication before. */
static uint64_t key_word(uint64_t h, uint64_t w)
{
  return (h + w) * UINT64_C(0xd1342543de82ef95);
}

/* A frame that always counts as changed: its function's PC is in a C frame. */
#define VOLATILE	1

/* The number of the first blocks of a run that have not changed. */
static uint32_t same_blocks(const mp_walk *k, uint32_t first, uint32_t length)
{
  const uint32_t *s = &k->slots[first * MP_WALK_BLOCK];
  const uint64_t *l = &k->links[first * MP_WALK_BLOCK];
  const uint64_t l0 = l[0], l1 = l[1], l2 = l[2], l3 = l[3];
  const size_t s1 = s[1] - s[0], s2 = s[2] - s[0], s3 = s[3] - s[0];
  const size_t stride = k->blocks[first].stride;
  const slot *p = k->stack + s[0];
  uint32_t n;
  for (n = 0; n < length; n++, p += stride)
    if (p[0] != l0 || p[s1] != l1 || p[s2] != l2 || p[s3] != l3) break;
  return n;
}

/* The number of the first blocks, of n, that have not changed. */
static uint32_t same_runs(const mp_walk *k, uint32_t n)
{
  uint32_t b = 0;
  while (b < n) {
    uint32_t length = k->blocks[b].length, same;
    if (length > n - b) length = n - b;
    b += same = same_blocks(k, b, length);
    if (same < length) break;
  }
  return b;
}

/* From so many frames on it pays to look for runs. */
#define DEEP	48

/* The number of the first links, of n, that have not changed. */
static int same_links(const mp_walk *k, int n)
{
  const slot *stack = k->stack;
  const uint32_t *s = k->slots;
  const uint64_t *l = k->links;
  int i = n < DEEP ? 0 :
	  (int)same_runs(k, (uint32_t)n / MP_WALK_BLOCK) * MP_WALK_BLOCK;
  for (; i + 4 <= n; i += 4) {  /* Mostly none of the four has changed. */
    uint64_t differ = (stack[s[i]] ^ l[i]) | (stack[s[i + 1]] ^ l[i + 1]) |
      (stack[s[i + 2]] ^ l[i + 2]) | (stack[s[i + 3]] ^ l[i + 3]);
    if (differ != 0) break;
  }
  while (i < n && stack[s[i]] == l[i]) i++;
  return i;
}

/* Whether the block b is as the one below it, so many slots above it. */
static bool repeats(const mp_walk *k, uint32_t b, uint32_t stride)
{
  const uint32_t *s = &k->slots[b * MP_WALK_BLOCK];
  const uint64_t *l = &k->links[b * MP_WALK_BLOCK];
  int i;
  for (i = 0; i < MP_WALK_BLOCK; i++)
    if (l[i] != l[i - MP_WALK_BLOCK] || s[i] - s[i - MP_WALK_BLOCK] != stride)
      return false;
  return true;
}

/* The last frames met are a block: it goes on with the run below, or begins
** one. */
static void add_block(mp_walk *k)
{
  uint32_t b = (uint32_t)k->n / MP_WALK_BLOCK - 1;
  if (b > 0) {
    uint32_t first = k->blocks[b - 1].first;
    mp_block *run = &k->blocks[first];
    uint32_t stride = run->length > 1 ? run->stride :
      k->slots[b * MP_WALK_BLOCK] - k->slots[(b - 1) * MP_WALK_BLOCK];
    if (repeats(k, b, stride)) {
      k->blocks[b].first = first;
      run->length++;
      run->stride = stride;
      return;
    }
  }
  k->blocks[b] = (mp_block){ b, 1, 0 };
}

/* The run of the last block ends there. */
static void cut_run(mp_walk *k)
{
  uint32_t blocks = (uint32_t)k->n / MP_WALK_BLOCK, first;
  if (blocks == 0) return;
  first = k->blocks[blocks - 1].first;
  k->blocks[first].length = blocks - first;
}

/* The number of frames met that are not above the top: the stack may have
** ended lower. Those above are forgotten soon (keep): no step is made twice. */
static int under(const mp_walk *k, const slot *top)
{
  int n = k->n;
  while (n > 0 && mp_walk_frame(k, n - 1) > top) n--;
  return n;
}

/* The number of the frames met last, from the lowest up, of which no word has
** changed. */
static int unchanged(const mp_walk *k, lua_State *L, slot *bottom, slot *top)
{
  int i, n;
  if (k->L != L || k->stack != bottom) return 0;
  n = same_links(k, under(k, top));
  for (i = 0; i < k->nspecials && k->specials[i].level < n; i++) {
    const mp_special *s = &k->specials[i];
    if (*s->below != s->func ||
	(s->cont && mp_walk_frame(k, s->level)[FRAME_CONTPC] != s->cont))
      return s->level;
  }
  return n;
}

/* The words of a frame whose link is no PC. Returns their share of the key. */
static uint64_t describe(mp_special *s, lua_State *L, slot *bottom, slot *top,
			 slot *f)
{
  slot *below = frame_prev(f);
  uint64_t h = key_word(0, *f);
  if (LINK_ISCONT(*f)) h = key_word(h, s->cont = f[FRAME_CONTPC]);
  s->below = f;
  s->func = *f;
  if (below <= bottom || TAG(below[FRAME_FUNC]) != TAGFUNC) return h;
  s->below = below + FRAME_FUNC;
  s->func = below[FRAME_FUNC];
  if (LINK_ISC(*f) && is_lua(s->func)) {
    h = key_word(h, mp_frame_cframepc(L, top, f));
    s->func = VOLATILE;
  }
  return key_word(h, func_id(PTR(below[FRAME_FUNC])));
}

/* Adds a frame on top of those that are known. */
static void push(mp_walk *k, lua_State *L, slot *bottom, slot *top, slot *f)
{
  int n = k->n++;
  mp_level *l = &k->levels[n];
  uint64_t key = n > 0 ? l[-1].key : 0, link = *f;
  k->slots[n] = (uint32_t)(f - bottom);
  k->links[n] = link;
  l->stack = 0;
  if (LINK_ISLUA(link)) {
    const mp_callsite *s = site_slot(k, link);
    l->key = key_word(key, s->pc == link ? s->id : link);
  } else {
    mp_special *s = &k->specials[k->nspecials++];
    *s = (mp_special){ .level = n };
    l->key = key_word(key, describe(s, L, bottom, top, f));
  }
  if (k->n % MP_WALK_BLOCK == 0) add_block(k);
}

/* The array that a pointer refers to gets n elements. False: no memory. */
static bool resize(void *pointer, int n, size_t size)
{
  void *p;
  memcpy(&p, pointer, sizeof(p));
  if ((p = mp_realloc(p, (size_t)n * size)) == NULL) return false;
  memcpy(pointer, &p, sizeof(p));
  return true;
}

/* Makes room for more frames. False: there is none. */
static __attribute__((noinline)) bool grow(mp_walk *k)
{
  int cap = k->cap ? k->cap * 2 : 64;
  if (cap > MP_DEPTH || !resize(&k->slots, cap, sizeof(*k->slots)) ||
      !resize(&k->links, cap, sizeof(*k->links)) ||
      !resize(&k->levels, cap, sizeof(*k->levels)) ||
      !resize(&k->specials, cap, sizeof(*k->specials)) ||
      !resize(&k->blocks, cap / MP_WALK_BLOCK, sizeof(*k->blocks)) ||
      !resize(&k->fresh, cap, sizeof(*k->fresh)))
    return false;
  k->cap = cap;
  return true;
}

/* Whether there is room for one more frame after so many. */
static inline bool room(mp_walk *k, int n) { return n < k->cap || grow(k); }

/* Forgets all frames met but the first n. */
static void keep(mp_walk *k, int n)
{
  k->n = n;
  while (k->nspecials > 0 && k->specials[k->nspecials - 1].level >= n)
    k->nspecials--;
  cut_run(k);
}

/* Walks down from the top to the highest of the `same` frames that are known,
** then adds those on the way. Returns the key. */
static __attribute__((noinline)) uint64_t walk(mp_walk *k, lua_State *L,
					       slot *bottom, slot *top,
					       int same)
{
  slot *f = top;
  uint64_t key;
  int n = 0;
  bool met = false;
  for (; f > bottom && room(k, n); f = frame_prev(f)) {
    while (same > 0 && mp_walk_frame(k, same - 1) > f) same--;
    met = same > 0 && mp_walk_frame(k, same - 1) == f && room(k, same + n);
    if (met) break;
    k->fresh[n++] = f;
  }
  k->L = L;
  k->stack = bottom;
  keep(k, met ? same : 0);
  while (n > 0) push(k, L, bottom, top, k->fresh[--n]);
  k->cut = f > bottom && !met;
  if (k->n == 0) return 0;
  key = k->levels[k->n - 1].key;
  if (k->cut) {  /* The frames below may change unnoticed. */
    keep(k, 0);
    key = mp_mix(key, 1);
  }
  return key;
}

uint64_t mp_walk_key(mp_walk *k, lua_State *L, uint64_t *top)
{
  slot *bottom = AT(slot *, L, L_STACK) + 1;
  int n = k->n, same = unchanged(k, L, bottom, top);
  if (n > 0 && same == n && mp_walk_frame(k, n - 1) == top)
    return k->levels[n - 1].key;
  return walk(k, L, bottom, top, same);
}

#else

uint64_t mp_walk_key(mp_walk *k, lua_State *L, uint64_t *top)
{
  (void)k; (void)L; (void)top;
  return 0;
}

#endif
