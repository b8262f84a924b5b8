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
  mp_free(k->levels);
  mp_free(k->fresh);
  mp_free(k->byslot);
  mp_free(k->slots);
  mp_free(k->words);
  mp_free(k->blocks);
  memset(k, 0, sizeof(*k));
}

/* Forgets the calls that return into [from, to], which lie together: a look at
** the whole table would be dear where a program compiles and drops code all the
** time. */
static void forget_sites(mp_walk *k, uint64_t from, uint64_t to)
{
  uint64_t n = (to >> 2) - (from >> 2), i;
  if (n >= MP_WALK_SITES) n = MP_WALK_SITES - 1;
  for (i = 0; i <= n; i++) {
    mp_callsite *s = site_slot(k, to - (i << 2));
    if (s->pc >= from && s->pc <= to) *s = (mp_callsite){ 0, 0 };
  }
}

void mp_walk_freed(mp_walk *k, const void *block, size_t size)
{
  uint64_t from = (uint64_t)(uintptr_t)block, to = from + size, i;
  uint64_t last = to >> MP_WALK_NEAR, n = last - (from >> MP_WALK_NEAR);
  if (n >= MP_WALK_FREED) n = MP_WALK_FREED - 1;
  for (i = last - n; i <= last; i++) k->freed[i & (MP_WALK_FREED - 1)]++;
  forget_sites(k, from, to);
  mp_walk_collected(k);
}

#ifdef MP_LAYOUT

/* One more word of a key: a polynomial, cheap because it waits for nothing
** but the multiplication before. */
static uint64_t key_word(uint64_t h, uint64_t w)
{
  return (h + w) * UINT64_C(0xd1342543de82ef95);
}

/* No word of a stack is this: a frame with it always counts as changed, since
** its function's PC is in a C frame. */
#define VOLATILE	1

/* -- Runs ---------------------------------------------------------------- */

/* Whether the block b is as the one below it, that many slots above it. */
static bool repeats(const mp_walk *k, uint32_t b, uint32_t stride)
{
  const uint32_t *s = &k->slots[b * MP_WALK_BLOCK];
  const uint64_t *w = &k->words[b * MP_WALK_BLOCK];
  int i;
  for (i = 0; i < MP_WALK_BLOCK; i++)
    if (w[i] != w[i - MP_WALK_BLOCK] || s[i] - s[i - MP_WALK_BLOCK] != stride)
      return false;
  return true;
}

/* The next block goes on with the run below, or begins one. */
static void add_block(mp_walk *k)
{
  uint32_t b = k->nblocks++;
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

/* Forgets all blocks but the first n. The run of the last one ends there. */
static void cut_run(mp_walk *k, uint32_t n)
{
  k->nblocks = n;
  if (n > 0) {
    uint32_t first = k->blocks[n - 1].first;
    k->blocks[first].length = n - first;
  }
}

/* The number of the first blocks of a run that have not changed. */
static uint32_t same_blocks(const mp_walk *k, uint32_t first, uint32_t length)
{
  const uint32_t *s = &k->slots[first * MP_WALK_BLOCK];
  const uint64_t *w = &k->words[first * MP_WALK_BLOCK];
  const uint64_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
  const size_t s1 = (size_t)s[1] - s[0], s2 = (size_t)s[2] - s[0],
	       s3 = (size_t)s[3] - s[0];
  const size_t stride = k->blocks[first].stride;
  const slot *p = k->stack + s[0];
  uint32_t n;
  for (n = 0; n < length; n++, p += stride)
    if (p[0] != w0 || p[s1] != w1 || p[s2] != w2 || p[s3] != w3) break;
  return n;
}

/* The number of the first words, of n, in blocks that have not changed. */
static __attribute__((noinline)) uint32_t same_runs(mp_walk *k, uint32_t n)
{
  uint32_t b = 0;
  n /= MP_WALK_BLOCK;
  while (k->nblocks < n) add_block(k);
  while (b < n) {
    uint32_t length = k->blocks[b].length, same;
    if (length > n - b) length = n - b;
    b += same = same_blocks(k, b, length);
    if (same < length) break;
  }
  return b * MP_WALK_BLOCK;
}

/* -- Frames that have not changed ---------------------------------------- */

uint32_t mp_walk_deep(mp_walk *k, uint32_t n)
{
  const slot *stack = k->stack;
  size_t i = same_runs(k, n);
  const uint32_t *s = k->slots + i, *end = k->slots + n;
  const uint64_t *w = k->words + i;
  for (; s + 4 <= end; s += 4, w += 4) {  /* Mostly none has changed. */
    uint64_t differ = (stack[s[0]] ^ w[0]) | (stack[s[1]] ^ w[1]) |
      (stack[s[2]] ^ w[2]) | (stack[s[3]] ^ w[3]);
    if (differ != 0) break;
  }
  for (; s < end && stack[*s] == *w; s++) w++;
  return (uint32_t)(s - k->slots);
}

/* Sets the number of frames to those of the kept ones that are not above the
** top. It is mostly near to that before. */
static void find_top(mp_walk *k, const slot *top)
{
  int n = k->n;
  while (n > 0 && k->levels[n - 1].frame > top) n--;
  while (n < k->kept && k->levels[n].frame <= top) n++;
  k->n = n;
}

/* The number of the known frames, from the lowest up, of which no word has
** changed. same: the number of these words, or MP_WALK_ANEW. */
static int unchanged(mp_walk *k, const slot *top, uint32_t same)
{
  uint32_t words;
  int n;
  find_top(k, top);
  words = mp_walk_words(k, n = k->n);
  if (same == MP_WALK_ANEW) same = mp_walk_unchanged(k, words);
  if (same < words)
    do n--; while (k->levels[n].first > same);
  return n;
}

/* -- New frames ---------------------------------------------------------- */

/* The key depends on that word of the stack. */
static inline void add_word(mp_walk *k, const slot *p, uint64_t word)
{
  uint32_t i = k->nwords++;
  k->slots[i] = (uint32_t)(p - k->stack);
  k->words[i] = word;
}

/* The words of a frame whose link is not a PC. Returns their share of the
** key. */
static uint64_t describe(mp_walk *k, lua_State *L, slot *top, slot *f)
{
  slot *below = frame_prev(f), func, word;
  uint64_t link = frame_link(f), h = key_word(0, link);
  if (LINK_ISCONT(link)) {
    h = key_word(h, mp_walk_word(k, frame_contpc(f)));
    add_word(k, f + FRAME_CONTPC, f[FRAME_CONTPC]);
  }
  if (below <= k->stack) return h;
  func = frame_func(below);
  if (TAG(func) != TAGFUNC) return h;
  word = below[FRAME_FUNC];
  if (LINK_ISC(link) && is_lua(func)) {
    h = key_word(h, mp_walk_word(k, mp_frame_cframepc(L, top, f)));
    word = VOLATILE;
  }
  add_word(k, below + FRAME_FUNC, word);
  return key_word(h, mp_walk_word(k, func_id(PTR(func))));
}

/* Adds a frame on top of those that are known. */
static inline void push(mp_walk *k, lua_State *L, slot *top, slot *f)
{
  int n = k->n++;
  mp_level *l = &k->levels[n];
  uint64_t key = n > 0 ? l[-1].key : 0, link = frame_link(f);
  l->frame = f;
  if ((size_t)(f - k->stack) < k->nslots) k->byslot[f - k->stack] = (uint32_t)n;
  l->stack = 0;
  l->first = k->nwords;
  add_word(k, f, *f);
  if (LINK_ISLUA(link)) {
    const mp_callsite *s = site_slot(k, link);
    l->key = key_word(key, s->pc == link ? s->id : mp_walk_word(k, link));
  } else {
    l->key = key_word(key, describe(k, L, top, f));
  }
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

#define FRAME_WORDS	3	/* Words of a frame, at most. */

/* Makes room for more frames. False: there is none. */
static __attribute__((noinline)) bool grow(mp_walk *k)
{
  int cap = k->cap ? k->cap * 2 : 64, words = cap * FRAME_WORDS;
  if (cap > MP_DEPTH || !resize(&k->levels, cap, sizeof(*k->levels)) ||
      !resize(&k->fresh, cap, sizeof(*k->fresh)) ||
      !resize(&k->slots, words, sizeof(*k->slots)) ||
      !resize(&k->words, words, sizeof(*k->words)) ||
      !resize(&k->blocks, words / MP_WALK_BLOCK, sizeof(*k->blocks)))
    return false;
  k->cap = cap;
  return true;
}

/* Makes room for frames of which the highest is in that slot. */
static __attribute__((noinline)) void grow_slots(mp_walk *k, size_t last)
{
  uint32_t n = k->nslots ? k->nslots : 256;
  while (n <= last) n *= 2;
  if (!resize(&k->byslot, (int)n, sizeof(*k->byslot))) return;
  memset(k->byslot + k->nslots, 0, (n - k->nslots) * sizeof(*k->byslot));
  k->nslots = n;
}

/* Whether there is room for one more frame after that many. */
static inline bool room(mp_walk *k, int n) { return n < k->cap || grow(k); }

/* Forgets all frames but the first n. */
static inline void keep(mp_walk *k, int n)
{
  k->nwords = mp_walk_words(k, n);
  k->n = k->kept = n;
  if (k->nwords / MP_WALK_BLOCK < k->nblocks)
    cut_run(k, k->nwords / MP_WALK_BLOCK);
}

/* The frames below may change unnoticed. Returns the key. */
static uint64_t cut_key(mp_walk *k)
{
  uint64_t key = k->n > 0 ? mp_mix(k->levels[k->n - 1].key, 1) : 0;
  keep(k, 0);
  return key;
}

/* Walks down from the top to the highest of the `same` frames that are known,
** then adds those on the way. Returns the key. */
static __attribute__((noinline)) uint64_t walk(mp_walk *k, lua_State *L,
					       slot *bottom, slot *top,
					       int same)
{
  slot *f = top;
  int n = 0;
  bool seen = false;
  for (; f > bottom && room(k, n); f = frame_prev(f)) {
    while (same > 0 && k->levels[same - 1].frame > f) same--;
    seen = same > 0 && k->levels[same - 1].frame == f && room(k, same + n);
    if (seen) break;
    k->fresh[n++] = f;
  }
  k->L = L;
  k->stack = bottom;
  k->cut = f > bottom && !seen;
  if (top - bottom >= (ptrdiff_t)k->nslots)
    grow_slots(k, (size_t)(top - bottom));
  keep(k, seen ? same : 0);
  while (n > 0) push(k, L, top, k->fresh[--n]);
  k->kept = k->n;
  if (k->cut) return cut_key(k);
  return k->n > 0 ? k->levels[k->n - 1].key : 0;
}

uint64_t mp_walk_changed(mp_walk *k, lua_State *L, uint64_t *top, uint32_t same)
{
  slot *bottom = frame_bottom(L);
  int n = 0;
  if (k->L == L && k->stack == bottom) {
    n = unchanged(k, top, same);
    if (n > 0 && n == k->n && k->levels[n - 1].frame == top)
      return k->levels[n - 1].key;
  }
  return walk(k, L, bottom, top, n);
}

#endif
