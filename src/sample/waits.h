/* SPDX-License-Identifier: MIT */
/*
** Where coroutines wait, and where the thread of the VM is blocked: a thread
** that looks, every few milliseconds of wall time at first and more seldom in a
** long run, where some of the coroutines have yielded, and where the VM's
** thread sleeps (sample/blocked.h).
**
** The coroutines that are looked at are drawn at random, one of each part of
** the list. A coroutine that has yielded counts for half of the time since the
** last look and until the next, times the number of coroutines in such a part;
** and for all of the time that the VM's thread has waited for a processor
** before it could resume any. So the sums are unbiased estimates of the seconds
** that all have waited, also where both threads were late because others had
** the processors.
**
** The thread stops nothing and signals nobody. It reads the VM's memory with
** the kernel's help (vm/parked.h), takes no memory once it runs, and no lock
** that the VM's thread takes but at the stop. What it has seen is in a table of
** stacks with their sums, which has room from the start. The thread of the VM
** makes rows of these stacks while their code is there: now and then, before
** code is freed, and before the numbers are read. Where it does not come to
** that, and the table is full, the time counts as "(other)".
**
** All functions are for the thread that runs the VM.
*/
#ifndef MP_WAITS_H
#define MP_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/capture.h"
#include "sample/coroutines.h"

#include "lua.h"

struct mp_watching;

typedef struct mp_waits {
  bool on;			/* They are wanted. */
  struct mp_watching *watching;	/* Shared with the thread; NULL: none runs. */
  const char *why;		/* The reason, if there never was one. */
  double seconds;		/* Coroutine-seconds seen, */
  double time;			/* in so many seconds, */
  uint64_t looks;		/* at that many looks, */
  uint64_t seen;		/* of which so many saw a waiting coroutine. */
  uint32_t coroutines;		/* There were so many at the last one. */
  const char *blockedwhy;	/* The reason, if nobody saw how the VM's */
				/* thread sleeps. */
  bool missed;			/* There were more than are known. */
  bool zoned;			/* A zone was open while no Lua code ran. */
} mp_waits;

/* Begins to watch the coroutines of the capture's VM. */
void mp_waits_start(mp_waits *w, mp_capture *c,
		    const mp_coroutines *coroutines);

/* Ends the thread, which looks once more, and counts what it has seen. */
void mp_waits_stop(mp_waits *w, mp_capture *c);

/* Ends the thread, and counts nothing: the VM must not be looked at. */
void mp_waits_drop(mp_waits *w, mp_capture *c);

/* In the child of a fork, which has no such thread. */
void mp_waits_forked(mp_waits *w, mp_capture *c);

/* Counts what was seen so far in the rows of the capture. */
void mp_waits_count(mp_waits *w, mp_capture *c);

/* Counts it if it was not lately, and makes rows of stacks that are new. The VM
** runs in this thread. */
void mp_waits_look(mp_waits *w, mp_capture *c);

#endif
