/* SPDX-License-Identifier: MIT */
/*
** A copy of another process's memory, at the same addresses.
**
** Only what the process has in memory or in swap is read; the rest is there,
** too, and empty. Mappings of files are not copied, and neither is the memory
** from sbrk, which LuaJIT does not use.
*/
#ifndef MP_COPY_H
#define MP_COPY_H

#include "attach/maps.h"

/* Bytes that would be copied of the mappings that end at `last` or before. */
uint64_t mp_copy_size(const mp_maps *m, uint64_t last);

/* Copies them, into this process. Returns NULL, or why it cannot be done: a
** static string. */
const char *mp_copy_memory(const mp_maps *m, uint64_t last);

#endif
