/* SPDX-License-Identifier: MIT */
/*
** C memory, by the Lua objects that lead to it.
**
** A word in the data of a userdata or a cdata that points into a block of C
** memory leads to that block, and so does a word in a block that is led to.
** What a word means is not known: that an object leads to a block is likely,
** not certain. A block counts for the object from which the fewest such steps
** lead to it or, if there are several, for the nearest that holds them all
** (heapwalk/graph.h).
**
** To be used where heapwalk/heap.h can be used. C memory may change meanwhile.
*/
#ifndef MP_CMEMORY_H
#define MP_CMEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "heapwalk/graph.h"
#include "heapwalk/heap.h"
#include "native/native.h"
#include "profile/profile.h"

/* An object that leads to a block, or holds one that does. */
typedef struct mp_leading {
  double bytes;			/* That it and all that it holds leads to. */
  uint32_t node, holder;	/* Its node; the entry of its holder. */
  uint32_t depth, jump;		/* Holders above; an entry far above. */
} mp_leading;

typedef struct mp_cmemory {
  mp_native_block *blocks;	/* The sampled ones, */
  uint32_t nblocks;
  uint32_t *owner;		/* and the nodes that they count for, or */
				/* MP_GRAPH_NONE. */
  double all;			/* Bytes in use. */
  bool partly;			/* Not all was searched. */
  mp_leading *tree;		/* [0] is the VM; holders come first. */
  uint32_t n, cap;
  mp_map places;		/* Node -> entry + 1. */
} mp_cmemory;

/* Finds the owners of these blocks, which it takes over. g: dominated. p: the
** profile, whose own memory leads to none. False: no memory; mp_cmemory_free is
** to be called nevertheless. */
bool mp_cmemory_find(mp_cmemory *m, mp_native_block *blocks, uint32_t n,
		     mp_heap *h, const mp_graph *g, const mp_profile *p);
void mp_cmemory_free(mp_cmemory *m);

/* Bytes that a node, and all that it holds, leads to. */
double mp_cmemory_retained(const mp_cmemory *m, uint32_t node);

/* Bytes that a block stands for. */
static inline double mp_cmemory_bytes(const mp_native_block *b)
{
  return b->objects * (double)b->size;
}

#endif
