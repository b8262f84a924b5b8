/* SPDX-License-Identifier: MIT */
/*
** The state of a heap sampler. Private to it: only sampler.c, hook.c
** and objects.c know these fields.
*/
#ifndef MP_SAMPLER_H
#define MP_SAMPLER_H

#include "data/live.h"
#include "data/period.h"
#include "data/tags.h"
#include "sample/alloc.h"
#include "vm/allocator.h"

/* Objects are allocated on such a boundary, and the hook's fields fill the
** first line of the processor's cache. */
#define MP_ALLOC_ALIGN	((size_t)64)

/* The numbers that the end of a freeze puts back. The hook subtracts each size
** from the countdown; below zero the call takes the slow path, mostly because
** the next sample is due. (Below zero, not at zero: so a subtraction and a jump
** are all that the processor has to do.) */
typedef struct mp_totals {
  int64_t countdown;		/* Bytes. */
  uint64_t allocs;		/* Allocations; a reallocation is one. */
} mp_totals;

/* The block that a reallocation replaced. */
typedef struct mp_moved {
  bool counted;			/* There was one, and it is an event. */
  uint32_t origin;		/* Row that had allocated the block before. */
  size_t size;			/* Its size before. */
} mp_moved;

/* The object that was allocated last, if it may have parts. */
typedef struct mp_whole {
  const void *function;		/* The one that allocated it, or NULL. */
  uint32_t row;			/* Its row. */
} mp_whole;

struct mp_alloc {
  /* -- What the hook touches at each call: one line of the cache -- */
  void *allocd;			/* The data of the allocator that was there. */
  mp_allocator direct;		/* Its functions, if they are known. */
  mp_totals now;
  uint64_t frees;		/* A reallocation is one, too. */
  uint64_t watched;		/* Allocations when the heap was looked at. */

  /* -- What it touches at many: the next line -- */
  lua_Alloc allocf;		/* That allocator. */
  size_t peak;			/* Highest total of the Lua heap so far. */
  size_t cosize;		/* Bytes of a coroutine, or 0. */
  uint8_t white;		/* The collector's white, when last seen. */
  bool frozen;			/* Allocations are the profiler's own. */
  bool installed;		/* The hook is in place. */
  bool exact;			/* Every allocation is a sample. */
  bool rows_only;		/* Objects have no record but their row. */
  bool tagged;			/* An object's row is in its tag, and not in */
				/* `live`. */
  uint32_t stamp;		/* Of the tags of objects born now: grows */
				/* with each collection; 0: none is wanted. */
  uint32_t oldest;		/* Objects with an older one have this one. */
  mp_vm vm;			/* The VM's layout; vm.g first. */

  mp_live live;			/* Sampled objects that are alive. */
  mp_tags tags;			/* All objects, if `tagged`. */

  bool retired;			/* The hook only passes calls on. */

  /* -- The next sample -- */
  mp_period period;		/* Draws the distances between samples. */
  int64_t held;			/* Put aside from the countdown. */
  uint64_t drawn;		/* Bytes from the start to the next sample. */

  /* -- Totals, all of them exact -- */
  uint64_t reallocs;
  uint64_t realloc_bytes, realloc_freed;  /* Sizes, after and before. */
  uint64_t cycles;		/* Collections seen to begin their sweep. */
  uint64_t looks, stopped;	/* At the collector; while it was stopped. */
  size_t inuse_start;		/* Bytes in the Lua heap at the start. */
  mp_totals saved;		/* While frozen: the totals before. */
  size_t saved_inuse;		/* While frozen: the bytes in use before. */

  /* -- Samples -- */
  mp_samples samples;
  uint64_t taken;		/* Allocation samples taken. */
  uint64_t dropped;		/* Samples lost for want of memory. */
  bool collected;		/* A full collection was made on purpose. */
  mp_types types;		/* The kinds of objects, by place. */
  mp_whole whole;		/* Where every allocation is a sample. */
  mp_moved last;		/* The last allocation, as an event, */
  mp_moved asked;		/* and that of the block of `types`, which */
  uint32_t born;		/* was allocated in this epoch of the counts. */
  mp_events events;		/* Reallocations and frees, where wanted. */
  mp_typed by_type[MP_NTYPES];	/* Allocations by type, where wanted. */
  mp_held kept;			/* Survivors of collections, for leaks. */

  mp_coroutines *coroutines;	/* Where wanted; or NULL. */

  /* -- The owner's -- */
  mp_alloc_owner owner;
  mp_alloc_options wants;
  mp_capture *capture;		/* The owner's. */
  mp_cpu *cpu;			/* Likewise. */
  double seconds;		/* Since the start, by the owner's clock. */
};

/* A collection begins its sweep: where leaks are wanted, it gets a record of
** the objects that it leaves alive (data/held.h). */
void mp_alloc_flip(mp_alloc *h);

/* Draws the distance from here to the next sample. */
void mp_alloc_draw_distance(mp_alloc *h);

/* The same where every allocation is a sample. */
static inline void mp_alloc_draw_nothing(mp_alloc *h)
{
  h->drawn -= (uint64_t)(h->now.countdown + h->held);
  h->now.countdown = h->held = 0;
}

/* Whether the next call is to look at what the last one has made: a block whose
** type is not known yet, or one that may have become a coroutine. */
static inline bool mp_alloc_waits(const mp_alloc *h)
{
  return h->types.unknown.block != NULL ||
	 (h->coroutines != NULL && h->coroutines->fresh != NULL);
}

/* If it is, makes it take the slow path by putting all of the distance
** aside. */
static inline void mp_alloc_hold(mp_alloc *h)
{
  if (!mp_alloc_waits(h) || h->now.countdown <= 0) return;
  h->held = h->now.countdown;
  h->now.countdown = 0;
}

/* Makes the countdown the whole distance again. */
static inline void mp_alloc_unhold(mp_alloc *h)
{
  h->now.countdown += h->held;
  h->held = 0;
}

/* The Lua heap is larger than ever before. */
static inline void mp_alloc_peaks(mp_alloc *h, size_t inuse)
{
  h->peak = inuse;
  mp_counts_peak(h->capture->counts);
}

#endif
