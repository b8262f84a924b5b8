/* SPDX-License-Identifier: MIT */
/*
** The holders of the heap, as lines for a reader.
**
** The objects of a heap form a tree in which the parent of an object is its
** holder (heapwalk/graph.h). The lines show the tree: a line stands for an
** object, or for objects of one type that are held in one way by the objects of
** one line ("[*]", 100,000 tables). Every object that holds at least so many
** bytes has a line of its own; smaller siblings of one type share one.
**
** Memory comes from malloc. The lines are made while the program stands still;
** they are texts and numbers, which no longer refer to the heap.
*/
#ifndef MP_HOLDERS_H
#define MP_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "heapwalk/entries.h"

#define MP_HOLDERS_DEPTH	40	/* Lines below each other, at most. */

typedef struct mp_holder {
  uint32_t parent;		/* Line of its holder; 0: the VM. */
  uint32_t depth;		/* Of the VM: 0. */
  uint32_t count;		/* Objects it stands for. */
  uint64_t self;		/* Their bytes, */
  uint64_t bytes;		/* with those of all that they hold. */
  const char *type;		/* Static string. */
  char *label;			/* Behind its holder's; NULL: no memory. */
  char *what;			/* The object's name, where there is one. */
  uint32_t first;		/* A node, then the next one by `next`. */
} mp_holder;

typedef struct mp_holders {
  mp_entries entries;		/* Of the line under way. */
  mp_holder *lines;		/* [0] is the VM. */
  uint32_t nlines, caplines;
} mp_holders;

/* Makes the lines. g: dominated; its holders are not to be read any more.
** False: no memory; mp_holders_free is to be called nevertheless. */
bool mp_holders_make(mp_holders *s, mp_heap *h, mp_graph *g, uint64_t min);

/* The line of a node that is reached, or that of its holder; until the graph is
** freed. */
static inline uint32_t mp_holders_line(const mp_holders *s, uint32_t node)
{
  return s->entries.line[node] & ~MP_ENTRY_LINE;
}

/* Gives back the memory that only making the lines took. */
void mp_holders_trim(mp_holders *s);
void mp_holders_free(mp_holders *s);

#endif
