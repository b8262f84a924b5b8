/* SPDX-License-Identifier: MIT */
/*
** Reading memory that may not be mapped, with the kernel's help.
**
** These functions may be called in any thread at any moment, even in a signal
** handler: they take no memory and no lock, and keep errno. Each call costs a
** system call.
*/
#ifndef MP_PEEK_H
#define MP_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies n bytes (at most 4096). False: they cannot all be read. */
bool mp_peek(void *to, const void *from, size_t n);

/* Whether the byte at p can be read. */
bool mp_readable(const void *p);

/* Whether all of n bytes can, by a look at each page: a system call for many of
** them. */
bool mp_readable_all(const void *p, size_t n);

#endif
