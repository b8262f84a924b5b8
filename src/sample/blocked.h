/* SPDX-License-Identifier: MIT */
/*
** Where the thread of the VM sleeps while Lua code is on its stack: blocked, or
** in an event loop.
**
** For the thread that looks at waiting coroutines, too (sample/waits.h). It
** reads the VM's stack with the kernel's help while the VM's thread sleeps, and
** then asks the kernel whether it has slept all the time. The seconds are the
** kernel's: all sleep between two looks counts for the places that these see,
** half and half; that before the first one and after the last one, for these.
** So the sum is exact if there was a look, and the places have their shares as
** they are seen at random.
*/
#ifndef MP_BLOCKED_H
#define MP_BLOCKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/asleep.h"
#include "sample/coroutines.h"
#include "vm/parked.h"
#include "vm/vm.h"

typedef struct mp_blocked {
  mp_vm vm;			/* A copy for the thread that looks. */
  const mp_coroutines *coroutines;
  const void *zones;		/* jit.zone's table, or NULL. */
  atomic_int tid;		/* The VM's thread, */
  _Atomic double mine;		/* and mp_asleep_mine when it became that. */
  atomic_bool zoned;		/* A zone was open while no Lua code was on */
				/* the stack of a thread that slept. */
  _Atomic(const char *) why;	/* The reason why nobody looks; or NULL. */
  int opened;			/* The thread whose files are open; 0: none, */
  mp_asleep files;		/* these. */
  mp_asleep own;		/* Those of the thread that looks, */
  double waited;		/* and its seconds in that queue. */
  double queued;		/* Seconds in the queue for a processor, */
  uint64_t turns;		/* and turns that it got; 0: not known; */
  double cpu;			/* its CPU time, */
  double ahead;			/* and how much of its wait for the next turn */
				/* comes after the last look, from 0 to 1. */
  bool seen;			/* It was seen asleep: */
  mp_sleep last;		/* like that; or how it was at first. */
  bool again;			/* In one sleep twice. */
  double square;		/* Of its seconds before it was seen; or 0. */
  /* Found by mp_blocked_look: */
  bool same;			/* It is the sleep that was seen last. */
  bool left;			/* A coroutine has left its C stack, and the */
				/* thread sleeps on another one. */
  bool placed;			/* Lua code is on its stack: what follows. */
  mp_parked parked;		/* The stack of either; no frames: it is not */
				/* readable. */
  uint32_t labels;		/* Those of the coroutine. */
  int64_t call;			/* The system call, as mp_sleep has it. */
  bool loop;			/* It is that of an event loop. */
  double seconds, before;	/* To add to this place, and to the one */
				/* before; */
  double variance, before_variance;  /* what that adds to theirs. */
} mp_blocked;

/* In the VM's thread, before the other one looks. */
void mp_blocked_init(mp_blocked *b, const mp_vm *vm,
		     const mp_coroutines *coroutines, const void *zones);

/* The VM's thread is this one: its sleep counts from now on. */
void mp_blocked_here(mp_blocked *b);

/* In the thread that looks: first, when the VM's thread is known, and last. */
void mp_blocked_open(mp_blocked *b);
void mp_blocked_close(mp_blocked *b);

/* The thread that looks has slept for so many seconds longer than it meant to.
** What the queue for a processor does not explain is the time for which the
** process was stopped: nothing in it was asleep. */
void mp_blocked_woke(mp_blocked *b, double late);

/* To be called first at each look: an estimate of the seconds since the last
** one in which the VM's thread has waited for the turn that could first change
** anything; 0: it had none, or that is not known. */
double mp_blocked_queued(mp_blocked *b);

/* Its stack pointer, if it sleeps; or 0. */
uintptr_t mp_blocked_stack(mp_blocked *b);

/* Whether the VM's thread sleeps. parked: whether coroutines wait. */
bool mp_blocked_look(mp_blocked *b, bool parked);

/* The same at the end: finds `before` and `before_variance`. mine: the VM
** thread's mp_asleep_mine when it had slept for the last time. */
bool mp_blocked_last(mp_blocked *b, double mine);

#endif
