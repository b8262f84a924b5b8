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
** The stack is captured before the allocation is made, because the allocation
** may move that very stack. If the VM's layout is not known, the stack cannot
** be captured here: the sample waits for the next safepoint, which the CPU
** sampler is asked for.
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
#include "data/tags.h"
#include "sample/capture.h"
#include "sample/cpu.h"
#include "vm/allocator.h"
#include "vm/type.h"
#include "vm/vm.h"

#include "lua.h"

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

/* Allocations of one type. */
typedef struct mp_typed {
  uint64_t objects, bytes;
} mp_typed;

/* The object that was allocated last, if it may have parts. */
typedef struct mp_whole {
  const void *function;		/* The one that allocated it, or NULL. */
  uint32_t row;			/* Its row. */
} mp_whole;

typedef struct mp_alloc {
  /* -- What the hook touches at each call: one line of the cache -- */
  void *allocd;			/* The data of the allocator that was there. */
  mp_allocator direct;		/* Its functions, if they are known. */
  mp_totals now;
  uint64_t frees;		/* A reallocation is one, too. */
  uint64_t watched;		/* Allocations when the heap was looked at. */

  lua_Alloc allocf;		/* That allocator. */
  size_t peak;			/* Highest total of the Lua heap so far. */
  mp_vm vm;			/* The VM's layout; vm.g first. */
  uint8_t white;		/* The collector's white, when last seen. */
  bool frozen;			/* Allocations are the profiler's own. */
  bool installed;		/* The hook is in place. */
  bool exact;			/* Every allocation is a sample. */
  bool rows_only;		/* Objects have no record but their row, */
  bool tagged;			/* which is in their tag, not in `live`. */
  bool wants_events, wants_leaks, wants_types;
  bool wants_records;		/* Objects need records, also where exact. */
  uint32_t stamp;		/* Of the tags of objects born now: grows */
				/* with each collection; 0: none is wanted. */
  uint32_t oldest;		/* Objects with an older one have this one. */
  mp_live live;			/* Sampled objects still alive, */
  mp_tags tags;			/* or all of them. */

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
  mp_totals saved;		/* While frozen: the totals before, */
  size_t saved_inuse;		/* and the bytes in use before. */

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
  mp_events events;		/* Reallocations and frees, where wanted, */
  mp_typed by_type[MP_NTYPES];	/* and allocations by their type. */
  mp_held kept;			/* Survivors of collections, for leaks. */

  /* -- Set by the owner before the start -- */
  mp_capture *capture;
  mp_cpu *cpu;
  void (*tick)(void *data, bool cycle);  /* Called now and then, inside the */
  void *tick_data;		/* allocator: it may take no memory from the */
				/* VM either. cycle: a collection begins. */
  void (*lost)(void *data);	/* See mp_alloc_lose: called likewise. */
  double seconds;		/* Since the start, by tick. */
} mp_alloc;

/* Sampled objects still alive. */
static inline size_t mp_alloc_live(const mp_alloc *h)
{
  return h->tagged ? h->tags.count : mp_live_count(&h->live);
}

/* Frees memory. From now on the hook only passes calls on to allocf: others may
** have kept the hook, or put an allocator over it. */
void mp_alloc_close(mp_alloc *h);

/* Makes a sampler of zeros, which has counted nothing. Its hook passes calls on
** to that allocator, if it is not NULL. */
void mp_alloc_init(mp_alloc *h, lua_Alloc f, void *ud);

/* Allocations between a freeze and a thaw are the profiler's, and do not
** count. */
void mp_alloc_freeze(mp_alloc *h);
void mp_alloc_thaw(mp_alloc *h);

/* The anchor is being freed, though the profile has not ended: the program has
** taken the profiler's guard apart, and the VM may be closing. From now on
** nothing counts, and the VM is not looked at again. */
void mp_alloc_lose(mp_alloc *h);

/* Whether the VM may be looked at, as its layout is known. */
static inline bool mp_alloc_sees(const mp_alloc *h)
{
  return h->vm.proved && h->capture->anchor != NULL;
}

/* In the child of a fork: forgets everything before the fork. Objects that are
** alive count as allocated there; the samples drawn differ from the
** parent's. */
void mp_alloc_restart(mp_alloc *h);

/* Totals, all of them exact. */
uint64_t mp_alloc_bytes(const mp_alloc *h);  /* Allocated since the start. */
uint64_t mp_alloc_allocs(const mp_alloc *h);  /* Allocations since the start. */
size_t mp_alloc_inuse(mp_alloc *h);  /* In the heap now; updates the peak. */

/* Looks whether the program has stopped the collector. From time to time, in
** the thread of the VM, inside the allocator too. */
void mp_alloc_look(mp_alloc *h);

/* A collection begins its sweep: where leaks are wanted, it gets a record of
** the objects that it leaves alive (data/held.h). */
void mp_alloc_flip(mp_alloc *h);

/* Whether a collection has left the object alive. */
bool mp_alloc_judged(const mp_alloc *h, const mp_sample *s);

/* Looks at the heap, whose layout is known: for a new peak, and for a
** collection that has begun its sweep. The hook does so at the next allocation
** or free. osize: bytes that were there a moment ago. The heap is highest just
** before something is freed, and the collector lowers its total before it
** calls. */
void mp_alloc_watch(mp_alloc *h, size_t osize);

/* -- For the hook (sample/hook.c) -- */

/* Draws the distance from here to the next sample. */
void mp_alloc_draw_distance(mp_alloc *h);

/* The same where every allocation is a sample. */
static inline void mp_alloc_draw_nothing(mp_alloc *h)
{
  h->drawn -= (uint64_t)(h->now.countdown + h->held);
  h->now.countdown = h->held = 0;
}

/* If the type of a block is not known yet, makes the next call take the slow
** path by putting all of the distance aside. */
static inline void mp_alloc_hold(mp_alloc *h)
{
  if (h->types.unknown.block == NULL || h->now.countdown <= 0) return;
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
