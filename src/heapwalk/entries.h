/* SPDX-License-Identifier: MIT */
/*
** The objects that others hold, grouped for a reader.
**
** An entry stands for objects of one type that are held in one way by the
** objects of one line of heapwalk/holders.h: all values of a table that is used
** as an array, say. An object that retains at least `min` bytes has an entry of
** its own; smaller ones share one.
**
** Memory comes from malloc. Made while the program stands still.
*/
#ifndef MP_ENTRIES_H
#define MP_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwalk/graph.h"
#include "heapwalk/heap.h"

#define MP_ENTRY_MANY	UINT32_MAX  /* For `up`. */
#define MP_ENTRY_LINE	(MP_GRAPH_MAX + 1)  /* The bit of a line. */
#define MP_ENTRY_ANY	(MP_GRAPH_MAX - 1)  /* A line: in an entry. */

typedef struct mp_entry {
  uint64_t key;			/* Of the way and the type. */
  uint64_t detail;		/* Of the first one's reference. */
  const char *from;		/* Object that refers to the first one. */
  const char *type;
  uint64_t self, bytes;
  uint32_t first, count;	/* Nodes. */
  uint32_t up;			/* Node that refers to them, or */
				/* MP_ENTRY_MANY: several do. */
  uint32_t holder, named;	/* Nodes: the holder of the first; the first. */
  uint32_t merged;		/* Entries that went into it. */
  uint32_t prefix;		/* Bytes that their keys have in common. */
  uint8_t how;
  bool direct;			/* Its holder refers to it. */
} mp_entry;

typedef struct mp_entries {
  mp_heap *h;
  mp_graph *g;			/* Dominated, with paths. */
  uint64_t min;			/* Bytes. */
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

/* Prepares it. From then on the graph's holders are not to be read, only
** whether there is one. False: no memory; mp_entries_trim is to be called
** nevertheless. */
bool mp_entries_init(mp_entries *s, mp_heap *h, mp_graph *g, uint64_t min);

/* Finds the entries of a line: of the node and those that `next` leads to. The
** caller gives each entry's nodes their line. */
void mp_entries_find(mp_entries *s, uint32_t node);

/* Gives back its memory. */
void mp_entries_trim(mp_entries *s);

/* Whether the node has a line, or is in an entry that will have one. */
static inline bool mp_entries_has(const mp_entries *s, uint32_t node)
{
  return (s->line[node] & MP_ENTRY_LINE) != 0;
}

/* The key under which a table has the entry's first object, where that is a
** string; *len: its length. Or NULL. */
const char *mp_entry_key(const mp_entry *e, size_t *len);

/* Whether its objects stand in an array, or under keys that are no strings. */
bool mp_entry_numbered(const mp_entry *e);

/* The object of a node; NULL: the VM. */
static inline const char *mp_entries_object(const mp_entries *s, uint32_t node)
{
  return node == 0 ? NULL : mp_places_address(&s->h->places, node);
}

#endif
