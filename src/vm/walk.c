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
  k->levels = NULL;
  k->fresh = NULL;
  k->n = k->cap = 0;
}

void mp_walk_forget(mp_walk *k)
{
  memset(k->sites, 0, sizeof(k->sites));
  k->n = 0;
}

#ifdef MP_LAYOUT

/* One more word of a key: a polynomial, cheap because it waits for nothing
** but the multiplication before. */
static uint64_t key_word(uint64_t h, uint64_t w)
{
  return (h + w) * UINT64_C(0xd1342543de82ef95);
}

/* A frame that is never what it was: its function's PC is in a C frame. */
#define VOLATILE	1

/* How many of the frames met last are still what they were: all their words
** are, up to there. */
static int unchanged(const mp_walk *k, lua_State *L, slot *bottom, slot *top)
{
  int i;
  if (k->L != L || k->stack != bottom) return 0;
  for (i = 0; i < k->n; i++) {
    const mp_level *l = &k->levels[i];
    if (l->frame > top || *l->frame != l->link) break;
    if (LINK_ISLUA(l->link)) continue;
    if (*l->below != l->func) break;
    if (LINK_ISCONT(l->link) && l->frame[FRAME_CONTPC] != l->cont) break;
  }
  return i;
}

/* The words of a frame whose link is no PC. Returns their share of the key. */
static uint64_t describe(mp_level *l, lua_State *L, slot *bottom, slot *top)
{
  slot *below = frame_prev(l->frame);
  uint64_t h = key_word(0, l->link);
  if (LINK_ISCONT(l->link)) h = key_word(h, l->cont = l->frame[FRAME_CONTPC]);
  l->below = l->frame;  /* If there is no function, there is nothing more. */
  l->func = l->link;
  if (below <= bottom || TAG(below[FRAME_FUNC]) != TAGFUNC) return h;
  l->below = below + FRAME_FUNC;
  l->func = below[FRAME_FUNC];
  if (LINK_ISC(l->link) && is_lua(l->func)) {
    h = key_word(h, mp_frame_cframepc(L, top, l->frame));
    l->func = VOLATILE;
  }
  return key_word(h, func_id(PTR(below[FRAME_FUNC])));
}

/* Adds a frame on top of those that are known. */
static void push(mp_walk *k, lua_State *L, slot *bottom, slot *top, slot *f)
{
  mp_level *l = &k->levels[k->n];
  uint64_t key = k->n++ > 0 ? l[-1].key : 0;
  *l = (mp_level){ .frame = f, .link = *f };
  if (LINK_ISLUA(l->link)) {
    const mp_callsite *s = site_slot(k, l->link);
    l->key = key_word(key, s->pc == l->link ? s->id : l->link);
  } else {
    l->key = key_word(key, describe(l, L, bottom, top));
  }
}

/* Whether there is room for one more frame after so many. */
static bool room(mp_walk *k, int n)
{
  int cap = k->cap ? k->cap * 2 : 64;
  void *p;
  if (n < k->cap) return true;
  if (cap > MP_DEPTH) return false;
  if ((p = mp_realloc(k->levels, (size_t)cap * sizeof(*k->levels))) == NULL)
    return false;
  k->levels = p;
  if ((p = mp_realloc(k->fresh, (size_t)cap * sizeof(*k->fresh))) == NULL)
    return false;
  k->fresh = p;
  k->cap = cap;
  return true;
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
    while (same > 0 && k->levels[same - 1].frame > f) same--;
    met = same > 0 && k->levels[same - 1].frame == f && room(k, same + n);
    if (met) break;
    k->fresh[n++] = f;
  }
  k->L = L;
  k->stack = bottom;
  k->n = met ? same : 0;
  while (n > 0) push(k, L, bottom, top, k->fresh[--n]);
  k->cut = f > bottom && !met;
  if (k->n == 0) return 0;
  key = k->levels[k->n - 1].key;
  if (k->cut) {  /* What is below need not stay what it is. */
    k->n = 0;
    key = mp_mix(key, 1);
  }
  return key;
}

uint64_t mp_walk_key(mp_walk *k, lua_State *L, uint64_t *top)
{
  slot *bottom = AT(slot *, L, L_STACK) + 1;
  int n = k->n, same = unchanged(k, L, bottom, top);
  if (n > 0 && same == n && k->levels[n - 1].frame == top)
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
