/* SPDX-License-Identifier: MIT */
/*
** Kinds of objects of the heap, beyond their types: parts of tables by their
** size, long strings by length, strings that differ in numbers only, classes of
** userdata, C types of cdata, machine code of traces.
**
** All numbers are exact, and the memory that counting takes has a bound,
** however large the heap is: of classes and C types beyond a number only the
** sum is known, and those strings that differ in numbers only are found which
** are most of the strings in one of many parts of the heap's strings.
**
** Memory comes from malloc. Made while the program stands still; the result no
** longer refers to the heap.
*/
#ifndef MP_HEAPKINDS_H
#define MP_HEAPKINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "heapwalk/graph.h"
#include "heapwalk/heap.h"
#include "heapwalk/size.h"

typedef enum mp_heapkindof {
  MP_KIND_ARRAY, MP_KIND_HASH, MP_KIND_LONG, MP_KIND_DIGITS, MP_KIND_USERDATA,
  MP_KIND_CDATA, MP_KIND_CODE
} mp_heapkindof;

typedef struct mp_heapkind {
  mp_heapkindof of;
  char *name;			/* Or NULL. */
  uint64_t size;		/* Slots of a part, or bytes of a text: at */
				/* most so many, and more than half of it. */
  uint64_t count, bytes;
  uint64_t slots, used;		/* Of parts of tables: used: with a value. */
} mp_heapkind;

typedef struct mp_heapkinds {
  mp_heapkind *a;
  uint32_t n, cap;
} mp_heapkinds;

/* Finds the kinds of the objects that are held. slots: the sum of all parts of
** tables is added to it. False: no memory; mp_heapkinds_free is to be called
** nevertheless. */
bool mp_heapkinds_find(mp_heapkinds *list, mp_heap *h, mp_graph *g,
		   mp_heapslots *slots);
void mp_heapkinds_free(mp_heapkinds *list);

/* The word for it in profiles. */
const char *mp_heapkind_word(mp_heapkindof of);

#endif
