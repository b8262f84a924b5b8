/* SPDX-License-Identifier: MIT */
/*
** The heap sampler: a lua_Alloc around the VM's own.
**
** All memory of a Lua VM passes here, from the interpreter, from compiled
** code, from C functions and from the collector. An allocation that is not
** sampled costs a subtraction; a free costs a look into a table that answers
** "not sampled" at once. Nothing here raises an error, calls into the VM or
** takes memory from it.
**
** The stack is captured before the allocation is made: making it may move
** the very stack that is looked at. Where the VM's layout is not known the
** stack cannot be captured here; the sample waits for the next safepoint,
** which the CPU sampler is asked for.
**
** A heap belongs to one VM. Everything here is for the thread that runs that
** VM; the totals may be read by the thread that ends the process.
*/
#ifndef MP_ALLOC_H
#define MP_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/counts.h"
#include "data/events.h"
#include "data/held.h"
#include "data/live.h"
#include "data/period.h"
#include "data/samples.h"
#include "sample/capture.h"
#include "sample/cpu.h"
#include "vm/type.h"
#include "vm/vm.h"

#include "lua.h"

/* Objects are allocated on such a boundary, and the hook's fields fill the
** first line of the processor's cache. */
#define MP_ALLOC_ALIGN	((size_t)64)

/* What a freeze puts back when it ends. The countdown is what the hook
** subtracts each size from; below zero the call takes the slow path, mostly
** because the next sample is due. (Below, not at: so a subtraction and a jump
** are all that the processor has to do.) */
typedef struct mp_totals {
  int64_t countdown;		/* Bytes. */
  uint64_t allocs;		/* Allocations; a reallocation is one. */
} mp_totals;

/* What a reallocation replaced. */
typedef struct mp_moved {
  bool counted;			/* It was one, and is an event. */
  uint32_t origin;		/* Row that had allocated the block before. */
  size_t size;			/* Its size before. */
} mp_moved;

typedef struct mp_alloc {
  /* -- What the hook touches at each call: one line of the cache -- */
  lua_Alloc allocf;		/* The allocator that was there before. */
  void *allocd;			/* Its data. */
  mp_totals now;
  uint64_t frees;		/* A reallocation is one, too. */
  size_t peak;			/* Highest total of the Lua heap so far. */
  uint8_t white;		/* The collector's white, when last seen. */
  bool frozen;			/* What is allocated is the profiler's own. */
  bool installed;		/* The hook is in place. */
  bool exact;			/* Every allocation is a sample. */
  bool rows_only;		/* Ids in `live` are rows, not samples. */
  bool wants_events, wants_leaks;
  mp_vm vm;			/* How to look into the VM; vm.g first. */
  mp_live live;			/* Sampled objects still alive. */

  bool retired;			/* The hook only passes on. */

  /* -- The next sample -- */
  mp_period period;		/* How far it is from one to the next. */
  int64_t held;			/* Put aside from the countdown. */
  uint64_t drawn;		/* Bytes until there, from the start. */

  /* -- Totals, all of them exact -- */
  uint64_t reallocs;
  uint64_t realloc_bytes, realloc_freed;  /* Sizes, after and before. */
  uint64_t cycles;		/* Collections seen to begin their sweep. */
  size_t inuse_start;		/* Bytes in the Lua heap at the start. */
  mp_totals saved;		/* While frozen: what is not to change, */
  size_t saved_inuse;		/* and the bytes in use. */

  /* -- Samples -- */
  mp_samples samples;
  uint64_t taken;		/* Allocation samples taken. */
  uint64_t dropped;		/* Samples lost for want of memory. */
  bool collected;		/* A full collection was made on purpose. */
  mp_types types;		/* What kind of object is asked for where. */
  mp_moved last;		/* The last allocation, as an event, */
  mp_moved asked;		/* and that of the block types asks about. */
  mp_events events;		/* Reallocations and frees, where wanted. */
  mp_held kept;			/* What collections left, for leaks. */

  /* -- Whom it works with; set by the owner before the start -- */
  mp_capture *capture;
  mp_cpu *cpu;
  void (*tick)(void *data);	/* Called now and then, inside the allocator: */
  void *tick_data;		/* it may take no memory from the VM either. */
  uint64_t now_ms;		/* Milliseconds since the start, by tick. */
} mp_alloc;

/* Gives memory back. From now on the hook only passes on what it is asked for,
** to allocf: others may have kept it, or put an allocator over it. */
void mp_alloc_close(mp_alloc *h);

/* Makes an empty one of zeros, whose hook passes on to that allocator, if it
** is not NULL. */
void mp_alloc_init(mp_alloc *h, lua_Alloc f, void *ud);

/* What is allocated in between is not the program's, and not counted. */
void mp_alloc_freeze(mp_alloc *h);
void mp_alloc_thaw(mp_alloc *h);

/* In the child of a fork: forgets what was before it. What is alive counts as
** allocated at the fork; other samples are drawn than in the parent. */
void mp_alloc_restart(mp_alloc *h);

/* Totals, all of them exact. */
uint64_t mp_alloc_bytes(const mp_alloc *h);  /* Allocated since the start. */
uint64_t mp_alloc_allocs(const mp_alloc *h);  /* How often. */
size_t mp_alloc_inuse(mp_alloc *h);  /* In the heap now; updates the peak. */

/* Where leaks are wanted, a collection begins its sweep: the history of what
** collections left alive goes on. */
void mp_alloc_flip(mp_alloc *h);

/* Whether a collection has come to the object, and left it. */
bool mp_alloc_judged(const mp_alloc *h, const mp_sample *s);

/* -- For the hook (sample/hook.c) -- */

/* Draws the distance to the next sample; it begins here. */
void mp_alloc_draw_distance(mp_alloc *h);

/* The next call is to take the slow path, if the type of a block is open: all
** of the distance is put aside. */
static inline void mp_alloc_hold(mp_alloc *h)
{
  if (h->types.unknown.block == NULL || h->now.countdown <= 0) return;
  h->held = h->now.countdown;
  h->now.countdown = 0;
}

/* The countdown is the whole distance again. */
static inline void mp_alloc_unhold(mp_alloc *h)
{
  h->now.countdown += h->held;
  h->held = 0;
}

/* The Lua heap is as large as never before. */
static inline void mp_alloc_peaks(mp_alloc *h, size_t inuse)
{
  h->peak = inuse;
  mp_counts_peak(h->capture->counts);
}

#endif
