/* SPDX-License-Identifier: MIT */
/*
** Memory whose amount is counted while an algorithm runs: arrays, and lists of
** numbers that grow.
**
** Memory comes from malloc. `failed` stays set after an allocation that failed,
** so that a user with many arrays checks once, after the last one. One thread
** at a time.
*/
#ifndef MP_USAGE_H
#define MP_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mp_usage {
  uint64_t now, peak;		/* Bytes: at present, and at most. */
  bool failed;			/* There was no memory. */
} mp_usage;

/* Asks for large pages: memory that is visited in no order profits. */
void mp_usage_large(void *p, size_t size);

/* An array of n elements of that size in bytes, or NULL. */
void *mp_usage_take(mp_usage *u, uint64_t n, size_t size);

/* An array of n zeros, or NULL. */
uint32_t *mp_usage_numbers(mp_usage *u, uint64_t n);

/* Frees an array of either kind. p may be NULL: there was no memory. */
void mp_usage_give(mp_usage *u, void *p, uint64_t n, size_t size);

/* A list of numbers. All zeros: an empty one. */
typedef struct mp_list {
  uint32_t *a;
  uint64_t n, cap;		/* Elements: in use, and allocated. */
} mp_list;

/* Makes room for n more. False: no memory, the list is unchanged. */
bool mp_list_room(mp_usage *u, mp_list *l, uint64_t more);

/* Frees it; it is empty then. */
void mp_list_free(mp_usage *u, mp_list *l);

#endif
