/* SPDX-License-Identifier: MIT */
/*
** A stack's key: equal for equal stacks, made of its raw words.
**
** From one allocation to the next little of a stack changes. So the frames
** met last are kept, lowest first, each with the key of all frames from it
** downward: those whose words have not changed need not be walked again. A
** user can keep with a frame the id of the stack below it (`stack`).
**
** A walk belongs to one context, and is used by one thread at a time, inside
** the allocator too. Its memory comes from malloc; where that fails the stack
** is cut.
*/
#ifndef MP_WALK_H
#define MP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "lua.h"

#define MP_DEPTH	(1 << 15)	/* Frames kept of a stack, at most. */
#define MP_WALK_SITES	1024	/* A power of two. */

/* A call, as far as it matters for what a report shows: calls that differ in
** neither the line nor the callee's name have one id. */
typedef struct mp_callsite {
  uint64_t pc;			/* Return address: a PC, or 0. */
  uint64_t id;
} mp_callsite;

/* A frame that was met. */
typedef struct mp_level {
  uint64_t key;			/* Of this frame and all under it. */
  uint32_t stack;		/* Of the frames below; 0: not made yet. */
} mp_level;

/* The words of a frame whose link is no PC, but for the link. */
typedef struct mp_special {
  int level;
  uint64_t *below;		/* The slot of the function below it, */
  uint64_t func;		/* the function, */
  uint64_t cont;		/* and the PC of a continuation, or 0. */
} mp_special;

typedef struct mp_walk {
  lua_State *L;			/* The thread that was walked last, */
  uint64_t *stack;		/* and where its stack was. */
  bool cut;			/* There were more frames than are kept. */
  int n;			/* Frames met, */
  int nspecials;		/* and those whose links are no PCs. */
  int cap;			/* Allocated elements of each of these: */
  uint32_t *slots;		/* the places of the links, lowest first; */
  uint64_t *links;		/* the links; */
  mp_level *levels;		/* the keys of the frames; */
  mp_special *specials;		/* other words of frames; */
  uint64_t **fresh;		/* the frames of a walk, top first. */
  mp_callsite sites[MP_WALK_SITES];  /* By PC. */
} mp_walk;

/* A walk that was filled with zeros is an empty one. */
void mp_walk_free(mp_walk *k);

/* Key of the frames from the one whose link is at `top` downward. */
uint64_t mp_walk_key(mp_walk *k, lua_State *L, uint64_t *top);

/* The slot of the link of a frame that was met. */
static inline uint64_t *mp_walk_frame(const mp_walk *k, int level)
{
  return k->stack + k->slots[level];
}

/* Functions were collected: others may lie where they were. */
static inline void mp_walk_collected(mp_walk *k) { k->n = k->nspecials = 0; }

/* Notes the id of the call that returns to pc. Recursion through several calls
** on one line then has as many keys as it has depths. */
void mp_walk_site(mp_walk *k, uint64_t pc, uint64_t id);

/* Prototypes were freed: forgets everything that was known by a PC. */
void mp_walk_forget(mp_walk *k);

#endif
