/* SPDX-License-Identifier: MIT */
/*
** Reading memory that may not be there: the kernel looks for us.
**
** Any thread, any moment, a signal handler included: no memory is taken, no
** lock, and errno stays what it was. A look costs a system call.
*/
#ifndef MP_PEEK_H
#define MP_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies n bytes (at most 4096). False: they cannot all be read. */
bool mp_peek(void *to, const void *from, size_t n);

/* Whether the byte at p can be read. */
bool mp_readable(const void *p);

#endif
