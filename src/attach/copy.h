/* SPDX-License-Identifier: MIT */
/*
** A copy of another process's memory, at the same addresses.
**
** Only what the process has in memory or in swap is read; the rest is there,
** too, and empty. Mappings of files are not copied, and neither is the memory
** from sbrk, which LuaJIT does not use.
**
** Where the command has no GC64, its own Lua heap gives way to the copy, and
** must not be used any more.
**
** Most of the time goes to getting memory for the copy. So it is made twice:
** while the process goes on, and once more while it stands still.
*/
#ifndef MP_COPY_H
#define MP_COPY_H

#include "attach/maps.h"

typedef struct mp_range {
  uint64_t from, to;		/* Addresses: the second one is outside. */
} mp_range;

typedef struct mp_copy {
  mp_range *list;		/* What it has, by address; NULL at first. */
  int n;
  uint64_t bytes;		/* That were copied the last time. */
} mp_copy;

/* Bytes that would be copied of the mappings that end at `last` or before, and
** of those that may be stacks. */
uint64_t mp_copy_size(const mp_maps *m, uint64_t last);

/* Copies them, into this process, or makes the copy what they are now. Returns
** NULL, or why it cannot be done: a static string. Then only the list can still
** be freed. */
const char *mp_copy_make(mp_copy *c, const mp_maps *m, uint64_t last);

/* Frees the list. The copy stays. */
void mp_copy_forget(mp_copy *c);

#endif
