/* SPDX-License-Identifier: MIT */
/*
** The filter before a table of sampled objects (data/live.h): a count for each
** hash of an address, 0 for "not sampled". The library that intercepts malloc
** reads the filter, too (data/port.h).
*/
#ifndef MP_FILTER_H
#define MP_FILTER_H

#include <stdint.h>

#define MP_FILTER_HASHES	65536	/* Values of mp_filter_hash. */

/* Objects are 16 bytes apart or more. */
static inline uint32_t mp_filter_hash(const void *addr)
{
  return (uint32_t)((uintptr_t)addr >> 4) & (MP_FILTER_HASHES - 1);
}

#endif
