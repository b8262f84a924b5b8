/* SPDX-License-Identifier: MIT */
/*
** The key of a stack: equal for equal stacks, computed from its raw words.
**
** From one allocation to the next, little of a stack changes. So the frames of
** the last walk are kept, lowest first, each with the key of all frames from it
** downward: frames whose words have not changed need not be walked again. If a
** stack ends lower than before, the frames above its end are kept, because the
** next call often makes them again. A user can keep with a frame the id of the
** stack below it (`stack`).
**
** The words of all frames are compared each time. The VM has no trace of a
** frame that was left and made again, perhaps from another line, with the same
** frames above it. So the cost grows with the depth, by a load from another
** line of the cache for each frame.
**
** A walk belongs to one context, and is used by one thread at a time, also
** inside the allocator. Its memory comes from malloc; if that fails, the stack
** is cut.
*/
#ifndef MP_WALK_H
#define MP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/layout.h"

#include "lua.h"

#define MP_DEPTH	(1 << 15)	/* Frames kept of a stack, at most. */
#define MP_WALK_SITES	1024	/* A power of two. */
#define MP_WALK_FREED	4096	/* A power of two. */
#define MP_WALK_NEAR	8	/* Addresses in this many bits lie together. */

/* A call as a report shows it: calls that differ neither in the line nor in the
** callee's name have one id. */
typedef struct mp_callsite {
  uint64_t pc;			/* Return address: a PC, or 0. */
  uint64_t id;
} mp_callsite;

/* A frame that was seen. */
typedef struct mp_level {
  uint64_t *frame;		/* Where its link is. */
  uint64_t key;			/* Of this frame and all under it. */
  uint32_t stack;		/* Of the frames below, once made; or 0. */
  uint32_t first;		/* The first of its words. */
} mp_level;

/* Four words, from the lowest up. In recursion they are as those below them,
** and as many slots above these: a run. */
#define MP_WALK_BLOCK	4
typedef struct mp_block {
  uint32_t first;		/* The first block of its run. */
  uint32_t length;		/* Of that one: blocks of the run, */
  uint32_t stride;		/* and slots from one to the next. */
} mp_block;

typedef struct mp_walk {
  lua_State *L;			/* The thread that was walked last. */
  uint64_t *stack;		/* Where the stack of that thread was. */
  bool cut;			/* There were more frames than are kept. */
  uint8_t white;		/* The collector's white then. */
  int n;			/* Frames seen last; above them are */
  int kept;			/* others, up to here, seen before. */
  int cap;			/* Frames that there is room for. */
  mp_level *levels;		/* The frames, the lowest first. */
  uint64_t **fresh;		/* Frames of a walk under way, top first. */
  uint32_t *byslot;		/* Slot of the stack -> frame whose link was */
  uint32_t nslots;		/* last there, for that many slots. */
  uint32_t nwords;		/* Words on which the keys depend. */
  uint32_t *slots;		/* Where these words are. */
  uint64_t *words;		/* Values of these words. */
  uint32_t nblocks;		/* Of these words, where that many matter, */
  mp_block *blocks;		/* four at a time. */
  mp_callsite sites[MP_WALK_SITES];  /* By PC. */
  uint32_t freed[MP_WALK_FREED];  /* Blocks of code, by address. */
} mp_walk;

/* A walk that was filled with zeros is an empty one. */
void mp_walk_free(mp_walk *k);

/* From this many words on it pays to look for runs. */
#define MP_WALK_DEEP	64

/* mp_walk_unchanged where n is that number or more. */
uint32_t mp_walk_deep(mp_walk *k, uint32_t n);

/* The number of the first words, of n, that have not changed. */
static inline uint32_t mp_walk_unchanged(mp_walk *k, uint32_t n)
{
  const uint32_t *s = k->slots, *end = s + n;
  const uint64_t *w = k->words;
  if (n >= MP_WALK_DEEP) return mp_walk_deep(k, n);
  if (n % 2 != 0 && k->stack[*s++] != *w++) return 0;
  for (; s < end; s += 2, w += 2)
    if (((k->stack[s[0]] ^ w[0]) | (k->stack[s[1]] ^ w[1])) != 0)
      return (uint32_t)(s - k->slots) + (k->stack[s[0]] == w[0]);
  return n;
}

/* The number of the words of the first n frames. */
static inline uint32_t mp_walk_words(const mp_walk *k, int n)
{
  return n < k->kept ? k->levels[n].first : k->nwords;
}

/* The frame seen before whose link is at `top`; -1: none. */
static inline int mp_walk_find(const mp_walk *k, const lua_State *L,
			       const uint64_t *top)
{
  size_t i;
  uint32_t n;
  if (k->L != L || k->stack != REF(slot *, L, L_STACK) + FRAME_SLOTS - 1)
    return -1;
  if (k->n > 0 && k->levels[k->n - 1].frame == top) return k->n - 1;
  i = (size_t)(top - k->stack);
  if (i >= k->nslots) return -1;
  n = k->byslot[i];
  return (int)n < k->kept && k->levels[n].frame == top ? (int)n : -1;
}

/* mp_walk_key where frames have changed. same: the number of the first words
** that have not; MP_WALK_ANEW: not known. */
#define MP_WALK_ANEW	UINT32_MAX
uint64_t mp_walk_changed(mp_walk *k, lua_State *L, uint64_t *top,
			 uint32_t same);

/* Key of the frames from the one whose link is at `top` downward. */
static inline uint64_t mp_walk_key(mp_walk *k, lua_State *L, uint64_t *top)
{
  int n = mp_walk_find(k, L, top);
  uint32_t words, same = MP_WALK_ANEW;
  if (n < 0) return mp_walk_changed(k, L, top, same);
  words = mp_walk_words(k, k->n = n + 1);
  same = mp_walk_unchanged(k, words);
  return same == words ? k->levels[n].key : mp_walk_changed(k, L, top, same);
}

/* The place of the link of a frame seen before. */
static inline uint64_t *mp_walk_frame(const mp_walk *k, int level)
{
  return k->levels[level].frame;
}

/* Functions were collected: others may lie where they were. */
static inline void mp_walk_collected(mp_walk *k)
{
  k->n = k->kept = 0;
  k->nwords = k->nblocks = 0;
}

/* Tells that the call that returns to pc has that id. Recursion through several
** calls on one line then has one key for each depth, not for each
** combination. */
void mp_walk_site(mp_walk *k, uint64_t pc, uint64_t id);

/* A prototype or a trace is being freed: from now on the keys that depend on an
** address in it, and few others, are different ones. */
void mp_walk_freed(mp_walk *k, const void *block, size_t size);

/* An address in code, as a word of keys. It is another one after code was freed
** there. */
static inline uint64_t mp_walk_word(const mp_walk *k, uint64_t addr)
{
  uint32_t n = k->freed[addr >> MP_WALK_NEAR & (MP_WALK_FREED - 1)];
  return addr ^ (uint64_t)n << 40;
}

#endif
