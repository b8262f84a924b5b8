/* SPDX-License-Identifier: MIT */
/*
** The sampler of C memory: the allocations of the whole process by malloc and
** mmap, by the Lua line that led to them.
**
** The sampler works if libluajit-mp-native.so was preloaded (data/port.h). One
** profile of the process has it. An allocation on the thread that runs the
** profile's VM counts for the VM's stack, with the code that asked for the
** memory on top; one on any other thread counts for "(other threads)". The
** memory of LuaJIT's allocator and of the profiler itself is not counted.
**
** Blocks are sampled as objects are (data/period.h), with a countdown for each
** thread. The sampler has a lock of its own. A thread waits for the lock only a
** moment; then the sample is lost, and counted as such. Stacks are captured
** outside of the lock.
*/
#ifndef MP_NATIVE_H
#define MP_NATIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "data/counts.h"
#include "data/held.h"
#include "data/port.h"
#include "lua.h"
#include "sample/alloc.h"
#include "sample/capture.h"

/* Looks for the library. To be called once, before the other functions. */
void mp_native_install(void);

/* Starts the sampler for a profile. period: as mp_period_init's. thread: the
** thread of the VM, which may change. To be called on that thread, while the
** heap sampler works. False: there is no library, another profile has the
** sampler, or no memory. */
bool mp_native_start(mp_capture *c, mp_alloc *heap, const pthread_t *thread,
		     uint64_t period, uint64_t seed);

/* Stops the sampler, if this profile has it; its counts stay until the next
** start. On the VM's thread. */
void mp_native_stop(const mp_capture *c);

/* Frees the counts of a profile, after its stop. */
void mp_native_forget(const mp_capture *c);

/* Whether this profile has the sampler. */
bool mp_native_has(const mp_capture *c);

/* The state of the sampler in the child of a fork. */
typedef enum mp_native_forked {
  MP_NATIVE_END,		/* It ends. */
  MP_NATIVE_ON,			/* It continues with its counts. */
  MP_NATIVE_ANEW		/* It begins: memory in use is new. */
} mp_native_forked;

/* Around fork, in this order: before it, and in the parent or in the child. */
void mp_native_before_fork(void);
void mp_native_parent(void);
void mp_native_child(mp_native_forked how);

/* A copy of the counts, and of the records for the verdicts on leaks. */
typedef struct mp_native_sums {
  mp_row *rows;			/* From 1 to n. */
  uint32_t n;
  uint64_t taken, dropped, live;  /* Samples: all, lost ones, in use. */
  double period;
  bool adaptive;
  mp_held kept;			/* What was in use, at moments spread over */
				/* all that was allocated, the last one now. */
} mp_native_sums;

/* False: the profile has no C memory, or there is no memory for the copy. */
bool mp_native_sum(const mp_capture *c, mp_native_sums *s);
void mp_native_sums_free(mp_native_sums *s);

/* A sampled block that is in use. */
typedef struct mp_native_block {
  uintptr_t not;		/* Its address inverted, as in data/sparse.h. */
  size_t size;
  double objects;		/* Blocks that it stands for. */
  uint32_t row;			/* One of the sums'. */
} mp_native_block;

static inline uintptr_t mp_native_at(const mp_native_block *b)
{
  return ~b->not;
}

/* These blocks, with ascending addresses, for mp_free; *n: how many there are.
** NULL: there is no memory, or *why says why. To be called in a child of this
** process, too, that mp_native_child has prepared. */
mp_native_block *mp_native_blocks(const mp_capture *c, uint32_t *n,
				  const char **why);

#endif
