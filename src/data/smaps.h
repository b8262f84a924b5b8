/* SPDX-License-Identifier: MIT */
/*
** The memory of this process, by kind of mapping, as the kernel counts it.
**
** Any thread, but not in a signal handler: files are opened. Takes no memory.
** All amounts are bytes that are resident (RSS), unless the comment says
** otherwise.
*/
#ifndef MP_SMAPS_H
#define MP_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_SMAPS_STACKS	64	/* Threads whose stacks are known. */

typedef struct mp_smaps {
  uint64_t rss;			/* All; the sum of the following. */
  uint64_t files;		/* Programs, libraries, other files, shared */
				/* memory. */
  uint64_t own;			/* The file that is the profiler. */
  uint64_t code;		/* Anonymous memory that can be executed. */
  uint64_t stacks;		/* Of C. */
  uint64_t heap;		/* The program's break: "[heap]". */
  uint64_t anonymous;		/* All the rest. */
  uint64_t heap_size;		/* Bytes of [heap], in memory or not. */
  uint64_t sp[MP_SMAPS_STACKS];	/* Stack pointers of threads. */
  int nsp;
} mp_smaps;

/* Reads it for this process. own: path of the profiler's file, or NULL. False:
** the kernel does not tell. */
bool mp_smaps_read(mp_smaps *m, const char *own);

/* The same from an open file in the format of /proc/self/smaps; m->sp and
** m->nsp are set. */
bool mp_smaps_parse(mp_smaps *m, int fd, const char *own);

/* Of the bytes from base on, a page's first, those that are resident. */
uint64_t mp_smaps_resident(const void *base, uint64_t size);

#endif
