/* SPDX-License-Identifier: MIT */
/*
** The holders of the heap, as lines for a reader.
**
** The objects of a heap form a tree in which the parent of an object is its
** holder (heapwalk/graph.h). The lines show the tree: a line stands for an
** object, or for objects of one type that are held in one way by the objects of
** one line ("[*]", 100,000 tables). Every object that holds at least so many
** bytes, or leads to so many of C memory, has a line of its own; smaller
** siblings of one type share one.
**
** Memory comes from malloc. The lines are made while the program stands still;
** they are texts and numbers, which no longer refer to the heap.
*/
#ifndef MP_HOLDERS_H
#define MP_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwalk/cmemory.h"
#include "heapwalk/graph.h"
#include "heapwalk/heap.h"
#include "heapwalk/size.h"

#define MP_ENTRY_MANY	UINT32_MAX  /* For `up`. */
#define MP_ENTRY_LINE	(MP_GRAPH_MAX + 1)  /* The bit of a line. */
#define MP_ENTRY_ANY	(MP_GRAPH_MAX - 1)  /* A line: in an entry. */

typedef struct mp_entry {
  uint64_t key;			/* Of the way and the type. */
  uint64_t detail;		/* Of the first one's reference. */
  const char *from;		/* Object that refers to the first one. */
  const char *type;
  uint64_t self, bytes;
  double c;			/* Bytes of C memory. */
  uint32_t first, count;	/* Nodes. */
  uint32_t up;			/* Node that refers to them, or */
				/* MP_ENTRY_MANY: several do. */
  uint32_t holder, named;	/* Nodes: the holder of the first; the first. */
  uint32_t merged;		/* Entries that went into it. */
  uint32_t prefix;		/* Bytes that their keys have in common. */
  uint8_t how;
  bool direct;			/* Its holder refers to it. */
  bool several;			/* Others than `up` refer to some of them. */
  bool spread;			/* Some have another holder. */
} mp_entry;

typedef struct mp_entries {
  mp_heap *h;
  mp_graph *g;			/* Dominated, with paths. */
  uint64_t min;			/* Bytes. */
  const mp_cmemory *c;		/* C memory, or NULL, */
  double cmin;			/* and the least bytes of it. */
  uint32_t *line;		/* By node: its line, with MP_ENTRY_LINE; */
				/* until it has one, its holder. This is */
				/* the graph's array of holders. */
  uint32_t *first;		/* By number of an inner node: one that it */
				/* holds, or 0. */
  uint32_t *next;		/* By node: the next one held by its holder; */
				/* then: the next one of its entry; or 0. */
  mp_list shared;		/* Nodes to which their holder does not */
				/* refer itself. */
  mp_entry *a;			/* The entries found last. */
  uint32_t n, cap;
  bool failed;			/* There was no memory. */
} mp_entries;

/* Whether the node has a line, or is in an entry that will have one. */
static inline bool mp_entries_has(const mp_entries *s, uint32_t node)
{
  return (s->line[node] & MP_ENTRY_LINE) != 0;
}

/* The object of a node; NULL: the VM. */
static inline const char *mp_entries_object(const mp_entries *s, uint32_t node)
{
  return node == 0 ? NULL : mp_places_address(&s->h->places, node);
}

#define MP_HOLDERS_DEPTH	40	/* Lines below each other, at most. */

typedef struct mp_holder {
  uint32_t parent;		/* Line of its holder; 0: the VM. */
  uint32_t depth;		/* Of the VM: 0. */
  uint32_t count;		/* Objects it stands for. */
  uint64_t self;		/* Bytes of the objects themselves. */
  uint64_t bytes;		/* Bytes with all that the objects hold. */
  double c;			/* Bytes of C memory that these lead to. */
  mp_heapslots slots;		/* Of those of the objects that are tables. */
  const char *type;		/* Static string. */
  char *label;			/* Behind its holder's; NULL: no memory. */
  char *what;			/* The object's name; of several, the class */
				/* that all have; or NULL. */
  uint32_t first;		/* A node, then the next one by `next`. */
} mp_holder;

typedef struct mp_holders {
  mp_entries entries;		/* Of the line under way. */
  mp_holder *lines;		/* [0] is the VM. */
  uint32_t nlines, caplines;
} mp_holders;

/* Makes the lines of objects that hold at least that share of what the VM
** holds. g: dominated; its holders are not to be read any more. c: or NULL.
** False: no memory; mp_holders_free is to be called nevertheless. */
bool mp_holders_make(mp_holders *s, mp_heap *h, mp_graph *g, double share,
		     const mp_cmemory *c);

/* The line of a node that is reached, or that of its holder; until the graph is
** freed. */
static inline uint32_t mp_holders_line(const mp_holders *s, uint32_t node)
{
  return s->entries.line[node] & ~MP_ENTRY_LINE;
}

/* Gives back the memory that only making the lines took. */
void mp_holders_trim(mp_holders *s);
void mp_holders_free(mp_holders *s);

/* The name of the reference from `up` (0: the VM) to the node, empty where
** there is none. Returns how many references there are from one to the
** other; the first one is named. */
uint32_t mp_edge_name(mp_heap *h, uint32_t up, uint32_t node, char *buf,
		      size_t n);

#endif
