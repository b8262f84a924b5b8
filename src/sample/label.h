/* SPDX-License-Identifier: MIT */
/*
** Labels: texts by name that the program has given to a coroutine
** (jit.mp.label).
**
** A set of labels is a path in the tree of zones, where it comes before the
** zones, ordered by names. So a sample has one number for both, and 0 stands
** for neither. How many labels and sets are kept is bounded: a text that is one
** too many is "(other)".
**
** Where the VM's layout is known, sample/coroutines.h knows a coroutine's
** labels, and passes them on to those that it makes. Elsewhere a table here
** does, of those to which the program has given some.
**
** All functions are for the thread that runs the VM. They take no memory from
** it, and raise no error.
*/
#ifndef MP_LABEL_H
#define MP_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/sparse.h"
#include "data/stacks.h"

#include "lua.h"

#define MP_LABELS_MAX	16	/* Labels of a coroutine. */
#define MP_LABELSETS	4096	/* Labels and sets that are kept, */
#define MP_LABELBYTES	(256 * 1024)  /* with so many bytes of text. */

typedef struct mp_text {
  const char *s;		/* Need not end in 0; NULL: none. */
  size_t len;
} mp_text;

typedef struct mp_label {
  mp_text name, value;		/* Without a value the label is taken away. */
} mp_label;

typedef struct mp_labels {
  uint32_t made;		/* Nodes of the tree made for labels, */
  size_t bytes;			/* and their bytes of text. */
  bool full;			/* Labels were left out or are "(other)". */
  bool lost;			/* Others could not be kept at all. */
  uint32_t run;			/* A number of its own, at random. */
  mp_sparse of;			/* Coroutine -> set, where the VM's layout is */
				/* not known. */
} mp_labels;

/* Knows no labels yet. */
void mp_labels_init(mp_labels *l);
void mp_labels_free(mp_labels *l);

/* The set that has those labels, too, or has them in place of others of the
** same name. */
uint32_t mp_labels_with(mp_labels *l, mp_stacks *zones, uint32_t set,
			const mp_label *list, int n);

/* Whether a node of the tree is a set of labels, without zones. */
static inline bool mp_labels_is(const mp_stacks *zones, uint32_t node)
{
  return node != 0 && zones->frames[zones->nodes[node].frame].kind == MP_LABEL;
}

/* -- Where the VM's layout is not known ----------------------------------- */

/* The set of a coroutine, or 0. */
static inline uint32_t mp_labels_of(const mp_labels *l, const lua_State *L)
{
  return l->of.count == 0 ? 0 : mp_sparse_get(&l->of, L);
}

/* False: no memory. */
bool mp_labels_set(mp_labels *l, const lua_State *L, uint32_t set);

/* A block is being freed, which may have been a coroutine. */
static inline void mp_labels_freed(mp_labels *l, const void *block)
{
  if (l->of.count != 0) mp_sparse_take(&l->of, block);
}

#endif
