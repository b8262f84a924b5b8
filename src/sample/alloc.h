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
** A sampler belongs to one VM. Everything here is for the thread that runs that
** VM; the totals may be read by the thread that ends the process. The sampler's
** fields are private to sample/ (sample/sampler.h).
*/
#ifndef MP_ALLOC_H
#define MP_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/events.h"
#include "data/held.h"
#include "data/samples.h"
#include "sample/capture.h"
#include "sample/coroutines.h"
#include "sample/cpu.h"
#include "vm/type.h"
#include "vm/vm.h"

#include "lua.h"

typedef struct mp_alloc mp_alloc;

#define MP_ALLOC_LARGE	((size_t)1 << 20)

/* -- From beginning to end ------------------------------------------------ */

/* Those that the sampler works with. */
typedef struct mp_alloc_owner {
  mp_capture *capture;
  mp_cpu *cpu;
  void (*tick)(void *data, bool cycle);  /* Called now and then, inside the */
				/* allocator: it may take no memory from the */
				/* VM either. cycle: a collection begins. */
  void (*lost)(void *data);	/* See mp_alloc_lose: called likewise. */
  void (*refused)(void *data, size_t size);  /* An allocation of that size */
				/* has failed: called likewise, if wanted; */
  void (*large)(void *data, size_t size);  /* or so many bytes more, of */
				/* MP_ALLOC_LARGE or more, are about to be */
				/* allocated. */
  void *data;			/* Argument of all. */
} mp_alloc_owner;

typedef struct mp_alloc_options {
  uint64_t period;		/* Mean bytes from sample to sample; 0: it */
				/* adapts; 1: every allocation is a sample. */
  bool events;			/* Count reallocations and frees by row. */
  bool leaks;			/* Record what collections leave alive. */
  bool types;			/* Find the types of objects. */
  bool records;			/* Keep a record of each object, also where */
				/* every allocation is a sample. */
  bool refusals;		/* Tell of allocations that fail, and of */
				/* large ones. */
  bool coroutines;		/* Know the VM's coroutines. */
} mp_alloc_options;

/* Makes a sampler that has counted nothing, without a hook. NULL: no memory. */
mp_alloc *mp_alloc_new(void);

/* Empties a sampler, which a new run of the same VM uses. The hook of an ended
** run may still be called, and passes calls on. */
void mp_alloc_init(mp_alloc *h, const mp_alloc_owner *owner);

/* Sets the options. To be called once, before mp_alloc_open. */
void mp_alloc_set(mp_alloc *h, const mp_alloc_options *options);

/* Takes the memory that the sampler needs before it starts; the VM has been
** proved. limit: most bytes for events. False: no memory. */
bool mp_alloc_open(mp_alloc *h, size_t limit);

/* Gives the memory back. From now on the hook only passes calls on: others may
** have kept the hook, or put an allocator over it. */
void mp_alloc_close(mp_alloc *h);

/* Frees the sampler. Nobody may call its hook any more. */
void mp_alloc_free(mp_alloc *h);

/* In the child of a fork: forgets everything before the fork. Objects that are
** alive count as allocated there; the samples drawn differ from the
** parent's. */
void mp_alloc_restart(mp_alloc *h);

/* The anchor is being freed, though the profile has not ended: the program has
** taken the profiler's guard apart, and the VM may be closing. From now on
** nothing counts, and the VM is not looked at again. */
void mp_alloc_lose(mp_alloc *h);

/* -- The profiler's own allocations --------------------------------------- */

/* Allocations between a freeze and a thaw are the profiler's, and do not
** count. */
void mp_alloc_freeze(mp_alloc *h);
void mp_alloc_thaw(mp_alloc *h);
bool mp_alloc_frozen(const mp_alloc *h);

/* Freezes unless that was done already, as in a finalizer that a report runs.
** Returns whether it did: to be given to mp_alloc_resume. */
bool mp_alloc_pause(mp_alloc *h);
void mp_alloc_resume(mp_alloc *h, bool paused);

/* Whether allocations count now: the run has not ended, and is not frozen. */
bool mp_alloc_counts(const mp_alloc *h);

/* -- Now and then --------------------------------------------------------- */

/* The time since the start, for the births of objects. */
void mp_alloc_at(mp_alloc *h, double seconds);

/* Counts the samples that waited for a stack: L is at a safepoint. */
void mp_alloc_settle(mp_alloc *h, lua_State *L, int state);

/* Looks whether the program has stopped the collector. From time to time, in
** the thread of the VM, inside the allocator too. */
void mp_alloc_look(mp_alloc *h);

/* Looks at the heap, whose layout is known: for a new peak, and for a
** collection that has begun its sweep. The hook does so at the next allocation
** or free. osize: bytes that were there a moment ago. The heap is highest just
** before something is freed, and the collector lowers its total before it
** calls. */
void mp_alloc_watch(mp_alloc *h, size_t osize);

/* Finds the type of the last object, which an allocation after it would find.
** Before the numbers are read. */
void mp_alloc_finish(mp_alloc *h);

/* -- Leaks ---------------------------------------------------------------- */

/* The program's objects are about to be collected on purpose, for the leak
** report; and that was done: records what is left. */
void mp_alloc_collecting(mp_alloc *h);
void mp_alloc_collected(mp_alloc *h);
bool mp_alloc_was_collected(const mp_alloc *h);

/* The records of what collections left alive. Ends the last one if the sweep of
** its collection is over. */
const mp_held *mp_alloc_survivors(mp_alloc *h);

/* Calls the function with the record of each sampled object that a collection
** has left alive. */
void mp_alloc_each_survivor(const mp_alloc *h,
			    void (*f)(void *data, const mp_sample *s),
			    void *data);

/* -- What was counted ----------------------------------------------------- */

/* Allocations of one type. */
typedef struct mp_typed {
  uint64_t objects, bytes;
} mp_typed;

/* Exact totals since the start. */
typedef struct mp_alloc_sums {
  uint64_t bytes, allocs;	/* A reallocation is an allocation, */
  uint64_t frees;		/* and a free, */
  uint64_t reallocs;		/* and counted here, with its sizes */
  uint64_t realloc_bytes, realloc_freed;  /* after and before. */
  uint64_t cycles;		/* Collections seen to begin their sweep. */
  uint64_t looks, stopped;	/* At the collector; while it was stopped. */
  uint64_t taken;		/* Samples. */
  uint64_t dropped;		/* Samples lost for want of memory. */
  uint64_t waiting;		/* Samples lost unless a safepoint is */
				/* reached. */
  size_t inuse;			/* Bytes in the heap now. */
  size_t inuse_start;		/* Bytes in the heap at the start. */
  const mp_typed *by_type;	/* By mp_type, where events are counted. */
} mp_alloc_sums;

mp_alloc_sums mp_alloc_totals(mp_alloc *h);
uint64_t mp_alloc_bytes(const mp_alloc *h);  /* Allocated since the start. */
uint64_t mp_alloc_cycles(const mp_alloc *h);
size_t mp_alloc_inuse(mp_alloc *h);  /* In the heap now; updates the peak. */
size_t mp_alloc_peak(const mp_alloc *h);  /* Highest so far. */

const mp_alloc_options *mp_alloc_wants(const mp_alloc *h);

/* Mean bytes from sample to sample now, and whether that adapts. */
double mp_alloc_period(const mp_alloc *h);
bool mp_alloc_adapts(const mp_alloc *h);

/* Reallocations and frees. */
const mp_events *mp_alloc_events(const mp_alloc *h);

/* -- Objects -------------------------------------------------------------- */

/* Sampled objects still alive. */
size_t mp_alloc_live(const mp_alloc *h);

/* Whether objects have records. Without one only the row of an object is known,
** not its size or birth. */
bool mp_alloc_has_records(const mp_alloc *h);

/* Calls the function with the records of the sampled objects that are alive and
** have one, and with their addresses. */
void mp_alloc_each(const mp_alloc *h,
		   void (*f)(void *data, const void *addr, const mp_sample *s),
		   void *data);

/* Gets the record of a block of that size, which stays, or one with its row if
** it has none. False: it was not sampled. */
bool mp_alloc_find(const mp_alloc *h, const void *p, size_t size, mp_sample *s);

/* Bytes of a sampler by itself. */
size_t mp_alloc_memory(void);

/* Bytes that it adds to the objects in the Lua heap. */
size_t mp_alloc_tagging(const mp_alloc *h);

/* -- Coroutines ----------------------------------------------------------- */

/* The coroutines of the VM. NULL: they are not wanted, the layout is not known,
** or there was no memory. */
mp_coroutines *mp_alloc_coroutines(const mp_alloc *h);

/* -- The VM --------------------------------------------------------------- */

/* The VM's layout. */
mp_vm *mp_alloc_vm(mp_alloc *h);

/* Whether the VM may be looked at, as its layout is known. */
bool mp_alloc_sees(const mp_alloc *h);

/* Whether the hook is in place, and the allocator that was there before. */
bool mp_alloc_installed(const mp_alloc *h);
lua_Alloc mp_alloc_original(const mp_alloc *h, void **ud);

#endif
