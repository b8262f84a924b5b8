/* SPDX-License-Identifier: MIT */
/*
** A hash map from 64-bit keys to 32-bit values, open addressing.
**
** Keys are expected to be well mixed already (see mp_mix); the value 0 means
** "absent" and cannot be stored. Memory comes from malloc. An operation that
** finds no memory returns false and changes nothing.
*/
#ifndef MP_MAP_H
#define MP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mp_map {
  uint64_t *keys;		/* Slots; meaningful where vals[i] != 0. */
  uint32_t *vals;		/* Values; 0: the slot is empty. */
  uint32_t mask;		/* Number of slots - 1 (a power of two). */
  uint32_t count;		/* Slots in use. */
} mp_map;

/* A map that holds nothing and no memory. */
#define MP_MAP_EMPTY { NULL, NULL, 0, 0 }

/* Mixes one more word into a running hash. */
static inline uint64_t mp_mix(uint64_t h, uint64_t w)
{
  h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 32);
}

/* Returns the value stored under key, or 0. */
uint32_t mp_map_get(const mp_map *m, uint64_t key);

/* Stores val (not 0) under key, replacing what was there. False: no memory. */
bool mp_map_put(mp_map *m, uint64_t key, uint32_t val);

/* Makes room, so that the next mp_map_put succeeds. False: no memory. */
bool mp_map_reserve(mp_map *m);

/* Bytes that the map will have taken once it has that many more keys. */
size_t mp_map_after(const mp_map *m, uint32_t more);

/* Forgets all keys but keeps the memory. */
void mp_map_clear(mp_map *m);

/* Gives the memory back; the map is empty and usable again. */
void mp_map_free(mp_map *m);

#endif
