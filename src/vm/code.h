/* SPDX-License-Identifier: MIT */
/*
** The identity of a prototype's code, and of the chunk that it belongs to.
**
** Chunks with one name may have different code: texts given to load(), or a
** file that changed and was loaded again. An identity is a number that is equal
** for equal code, even in other runs: it is computed from instructions, lines,
** names and constants, without the parts that the JIT compiler changes.
**
** A prototype refers to those of the functions within it, but not to the one
** around it. So a chunk is the outermost prototype seen so far: once that of
** the main chunk has been seen, all of its functions belong to it.
**
** On the thread that runs the VM, inside the allocator too: nothing of the
** VM's is written to. Memory comes from malloc.
*/
#ifndef MP_CODE_H
#define MP_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "vm/vm.h"

/* 0 < identity < 2^53. */
typedef struct mp_code {
  uint64_t code;		/* Of the function; 0: not known. */
  uint64_t chunk;		/* Of the outermost function around it. */
  bool named;			/* Those within it were given its chunk. */
  const char *proto;		/* The prototype; NULL: it was freed. */
  uint32_t size;		/* Its bytes. */
} mp_code;

typedef struct mp_codes {
  mp_map map;			/* Hash of an address -> index. */
  mp_code *list;		/* From 1 on. */
  uint32_t count, cap;
} mp_codes;

/* The code of a prototype in a frame. code is 0 where there is no memory. A
** table that was filled with zeros is an empty one. */
mp_code mp_codes_get(mp_codes *c, mp_vm *vm, const char *proto);

/* A block that may be a prototype is being freed. */
void mp_codes_freed(mp_codes *c, const void *block);

void mp_codes_free(mp_codes *c);

/* A text as an identity. */
uint64_t mp_code_text(const char *s, size_t len);

#endif
