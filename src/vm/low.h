/* SPDX-License-Identifier: MIT */
/*
** Memory that the VM's references can lead to: without GC64 they have 32 bits,
** and with GC64 47, of which arm64's addresses have 48; malloc's memory may lie
** anywhere.
*/
#ifndef MP_LOW_H
#define MP_LOW_H

#include <stddef.h>

/* A block of zeros; NULL: there is no memory. */
void *mp_low_alloc(size_t size);

/* Frees a block of that size, or NULL. */
void mp_low_free(void *p, size_t size);

#endif
