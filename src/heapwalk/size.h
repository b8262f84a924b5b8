/* SPDX-License-Identifier: MIT */
/*
** The sizes of the heap's objects, and of the VM's own memory, in bytes. To be
** used where heapwalk/heap.h can be used.
*/
#ifndef MP_HEAPSIZE_H
#define MP_HEAPSIZE_H

#include "heapwalk/heap.h"

/* Bytes of the heap that belong to an object. */
uint64_t mp_heap_size(const mp_heap *h, const char *obj);

/* The blocks of memory of an object; size 0: there is none. */
#define MP_HEAP_PARTS	3
typedef struct mp_heapparts {
  const void *block[MP_HEAP_PARTS];
  uint64_t size[MP_HEAP_PARTS];
} mp_heapparts;
void mp_heap_parts(const mp_heap *h, const char *obj, mp_heapparts *parts);

/* The slots in the array and the hash parts of tables. */
typedef struct mp_heapslots {
  uint64_t all, used;		/* Slots; used: with a value. */
  uint64_t bytes, empty;	/* Of all, and of those that are not used. */
} mp_heapslots;

/* Those of a table's array part and of its hash part. */
void mp_heap_tableparts(const char *tab, mp_heapslots *array,
			mp_heapslots *hash);

void mp_heap_addslots(mp_heapslots *to, const mp_heapslots *s);

/* Adds both, if the object is a table. */
void mp_heap_slots(const char *obj, mp_heapslots *s);

/* The data that a userdata or a cdata has for its user; *len: the bytes. NULL:
** the object has none. */
const char *mp_heap_payload(const mp_heap *h, const char *obj, uint64_t *len);

/* The memory that the VM itself takes, in bytes. Together with all objects it
** adds up to the total that the collector counts. */
typedef struct mp_heapown {
  uint64_t total;		/* As the collector counts. */
  uint64_t state;		/* The global state, with the compiler's. */
  uint64_t strtab;		/* Table of strings. */
  uint64_t ctypes;		/* The FFI's state and C types. */
  uint64_t buffer;		/* Where strings are put together. */
  uint64_t rest;		/* The compiler's buffers, others. */
} mp_heapown;

/* objects: bytes of all objects. False: the numbers do not add up. */
bool mp_heap_own(const mp_heap *h, uint64_t objects, mp_heapown *own);

#endif
