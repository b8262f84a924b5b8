/* SPDX-License-Identifier: MIT */
/*
** Address -> id (not 0), where few objects of a heap have one: a hash table
** with open addressing. Addresses are inverted in it: a search for pointers
** (heapwalk/cmemory.h) must not find them where the table was, or is.
*/
#ifndef MP_SPARSE_H
#define MP_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mp_sparseslot {
  uintptr_t not;		/* The address, with all bits inverted. */
  uint32_t id;			/* 0: empty slot. */
} mp_sparseslot;

typedef struct mp_sparse {
  mp_sparseslot *slots;		/* A power of two of them. */
  uint32_t count;		/* Slots in use. */
  uint32_t shift;		/* From a hash of 64 bits to a slot's number. */
} mp_sparse;

/* Makes an empty table out of zeros; takes little memory. False: none. */
bool mp_sparse_init(mp_sparse *t);

/* Remembers an id for the object at addr. Returns 0, or the id that was there,
** or MP_SPARSE_NOMEM. */
#define MP_SPARSE_NOMEM UINT32_MAX
uint32_t mp_sparse_put(mp_sparse *t, const void *addr, uint32_t id);

/* The id of the object at addr, or 0. mp_sparse_take forgets it. */
uint32_t mp_sparse_get(const mp_sparse *t, const void *addr);
uint32_t mp_sparse_take(mp_sparse *t, const void *addr);

/* Calls f for all objects, in no order, with the address and the id. */
typedef void mp_sparse_see(void *data, const void *addr, uint32_t id);
void mp_sparse_each(const mp_sparse *t, mp_sparse_see *f, void *data);

/* Bytes of memory in use, without the table itself. */
size_t mp_sparse_memory(const mp_sparse *t);

/* Gives all memory back. */
void mp_sparse_free(mp_sparse *t);

#endif
