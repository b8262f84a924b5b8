/* SPDX-License-Identifier: MIT */
/*
** What the kernel tells of a thread of this process that sleeps: for how long
** it has slept in all, and in which system call it does.
**
** For a thread of ours that looks, and has descriptors of its own: what the
** program sees and closes is not changed. The thread that is looked at is not
** disturbed. No memory is taken.
*/
#ifndef MP_ASLEEP_H
#define MP_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The files of a thread; -1: not open. */
typedef struct mp_asleep {
  int times, call;
} mp_asleep;

/* A moment of its sleep. */
typedef struct mp_sleep {
  uint64_t turns;		/* Times that the thread has got a processor. */
  double slept;			/* Seconds that it has slept, and any */
				/* constant: right while it sleeps. */
  int64_t call;			/* The system call that it sleeps in, by */
				/* number; -1: it is in none; */
  uintptr_t sp;			/* and its stack pointer. */
} mp_sleep;

/* Gives the calling thread descriptors of its own, and closes them. False: the
** kernel cannot, and nothing was done. */
bool mp_asleep_apart(void);

/* Seconds that the calling thread has slept, as mp_sleep has them; NAN: the
** kernel does not tell. */
double mp_asleep_mine(void);

/* Opens the files of a thread of this process. False: they are not there, or
** tell nothing. */
bool mp_asleep_open(mp_asleep *a, pid_t tid);
void mp_asleep_close(mp_asleep *a);

/* Seconds that it has been in the queue for a processor in all, and times that
** it has got one. False: it is gone. */
bool mp_asleep_queued(const mp_asleep *a, double *queued, uint64_t *turns);

/* False: the thread does not sleep, or is gone. */
bool mp_asleep_look(const mp_asleep *a, mp_sleep *s);

/* The stack pointer of a thread that sleeps; 0: it does not, or is gone. */
uintptr_t mp_asleep_stack(const mp_asleep *a);

/* Whether it is still the same sleep. */
bool mp_asleep_still(const mp_asleep *a, const mp_sleep *s);

#endif
