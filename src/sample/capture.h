/* SPDX-License-Identifier: MIT */
/*
** The capture for both samplers: turns the work of a thread into a row of
** counts.
**
** A mp_capture is embedded in a profile and belongs to the thread of its VM:
** captures are made there, inside the allocator or at a safepoint. Another
** thread reads stacks and zones when the process ends, under the lock
** (data/lock.h). Memory comes from malloc; without memory a capture has row 0,
** and nothing else changes.
*/
#ifndef MP_CAPTURE_H
#define MP_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/counts.h"
#include "data/map.h"
#include "data/stacks.h"
#include "sample/coroutines.h"
#include "sample/label.h"
#include "vm/callee.h"
#include "vm/code.h"
#include "vm/view.h"
#include "vm/vm.h"
#include "vm/walk.h"
#include "vm/where.h"

#include "lua.h"

/* A slot of a cache from keys of stacks to rows: the upper bits of the key, and
** the row; 0: empty. The lower bits of the key tell which slot to look at
** first. If another key has that slot, the row may be in any other slot of the
** same line of the processor's cache. */
typedef uint64_t mp_cached;
#define MP_CACHE_LINE	8u	/* Slots in a line. */

typedef struct mp_capture {
  mp_vm *vm;			/* The VM that is looked into. */
  mp_counts *counts;		/* Where rows are made. */
  lua_State *anchor;		/* A coroutine of that VM that never runs; */
				/* slot 1 holds jit.zone's table, or nil. */
				/* NULL: the VM has freed it. */
  const void *mate;		/* One that is needed as long; or NULL. */
  const void *zonetable;	/* That table, or NULL. */
  mp_stacks stacks;		/* Stacks of both samplers. */
  mp_stacks zones;		/* Labels and stacks of zones. */
  mp_labels labels;		/* Those of coroutines; where the VM's layout */
  mp_coroutines *coroutines;	/* is known, with these. NULL: none has any. */
  mp_map frames;		/* Hash of a verified frame -> frame id. */
  mp_codes codes;		/* Identities of their code. */
  void (*freeing)(void *data, const void *block);  /* Code is about to be */
  void *freeingdata;		/* freed; or NULL. */
  struct mp_penalties *penalties;  /* Addresses in prototypes; or NULL. */
  double *in_trace;		/* Bytes by the trace that ran; or NULL. */
  mp_cached *cache;		/* Key of a stack -> row. */
  uint32_t cachemask;
  uint32_t victim;		/* The slot of a full line to overwrite next. */
  uint64_t cut;			/* Samples whose stacks had more frames. */
  size_t limit;			/* Bytes that all these tables may take; 0: */
				/* any. */
  size_t reportlimit;		/* Bytes that a report may take. */
  size_t reported;		/* Bytes that a report of the rows will take. */
  bool full;			/* New stacks and zones count as "(other)". */
  uint32_t other, otherzone;	/* A stack and a zone of that name. */
  uint32_t leaf;		/* Then: the frame on top of a new stack, or */
				/* 0: not known. */
  bool lines;			/* Frames have lines. */
  bool traces;			/* Each trace has rows of its own. */
  uint32_t types;		/* The types that rows have: a set of bits. */
  atomic_int inside;		/* Calls under way that work on the tables. */
  atomic_bool missed;		/* A tick has come meanwhile. */
  uint32_t gcrow;		/* Row of frees by the collector, or 0. */
  mp_walk *walk;		/* The stack that was seen last. */
  mp_view *view;		/* The stack that is looked at. */
} mp_capture;

/* Makes a capture with a cache of that many rows, a power of two and at least
** MP_CACHE_LINE. The anchor and its table are set later, and so are lines and
** types. False: no memory; mp_capture_free is to be called nevertheless. */
bool mp_capture_init(mp_capture *c, mp_vm *vm, mp_counts *counts,
		     uint32_t slots);
void mp_capture_free(mp_capture *c);

/* Only the VM's thread writes this, and its handlers. A handler in a thread
** that the VM has just left may read. */
static inline void mp_capture_more(mp_capture *c, int by)
{
  int n = atomic_load_explicit(&c->inside, memory_order_relaxed);
  atomic_store_explicit(&c->inside, n + by, memory_order_relaxed);
}

/* Around work on the tables, and around what the profiler itself has the VM do:
** in between, mp_capture_interrupted captures nothing. */
static inline void mp_capture_enter(mp_capture *c)
{
  mp_capture_more(c, 1);
  atomic_signal_fence(memory_order_seq_cst);
}

static inline void mp_capture_leave(mp_capture *c)
{
  atomic_signal_fence(memory_order_seq_cst);
  mp_capture_more(c, -1);
}

/* Whether a tick came while a capture was under way, and could not be captured
** itself. Its place is that of the capture. */
static inline bool mp_capture_missed(const mp_capture *c)
{
  return __builtin_expect(atomic_load_explicit(&c->missed,
					       memory_order_relaxed), 0);
}

/* Sets how much memory its tables and the counts may take, and how much a
** report of them. Beyond that new stacks, names and zones count as
** "(other)". */
void mp_capture_limit(mp_capture *c, size_t bytes, size_t report);

/* Sets the anchor, which has jit.zone's table in its slot 1, or nil. */
void mp_capture_anchor(mp_capture *c, lua_State *anchor);

/* The row of L, which is at a safepoint, in one of the VM's states "NICGJ". 0:
** no memory. */
uint32_t mp_capture_row(mp_capture *c, lua_State *L, int state);

/* The row of C functions that a tick had interrupted, in one of these states,
** before L came to its safepoint. 0: they are not known to be those. */
uint32_t mp_capture_called(mp_capture *c, lua_State *L, const mp_callee *called,
			   int state);

/* The row of L, which the interpreter has just had call a function. To be used
** at each call: what it knows of the stack it knows from the last one. */
uint32_t mp_capture_call(mp_capture *c, lua_State *L);

/* The row of a place that is known otherwise, with those labels. */
uint32_t mp_capture_place(mp_capture *c, mp_where *w, uint32_t labels,
			  int state);

/* The row of a pseudo frame on top of the stack of another row. The name is a
** static string. */
uint32_t mp_capture_above(mp_capture *c, uint32_t row, const char *name);

/* The row of a pseudo frame without a stack. The name is a static string. */
uint32_t mp_capture_named(mp_capture *c, const char *name, int state);

/* The row of the running thread, which need not be known, inside the allocator,
** for an object of that type. */
uint32_t mp_capture_running(mp_capture *c, uint8_t type);

/* The stack of the zones in jit.zone's table, which is in slot 1 of a
** coroutine that never runs, after those labels (sample/label.h). MP_NONE: no
** memory. */
uint32_t mp_zone_read(mp_stacks *zones, uint32_t labels, lua_State *anchor);

/* The labels of a coroutine, which may be NULL. */
static inline uint32_t mp_capture_labels(const mp_capture *c,
					 const lua_State *L)
{
  if (c->coroutines != NULL) return mp_coroutines_label(c->coroutines, L);
  return mp_labels_of(&c->labels, L);
}

/* Sets them, a set of c->labels. False: that coroutine can have none. */
bool mp_capture_label(mp_capture *c, const lua_State *L, uint32_t set);

/* The labels of the running coroutine, and the stack of zones now. */
static inline uint32_t mp_capture_zone(mp_capture *c, const lua_State *L)
{
  uint32_t labels;
  if (c->coroutines != NULL && c->coroutines->reused)
    mp_coroutines_look(c->coroutines, L);
  labels = mp_capture_labels(c, L);
  if (c->vm->proved && c->zonetable != NULL && mp_vm_noarray(c->zonetable))
    return labels;
  return mp_zone_read(&c->zones, labels, c->anchor);
}

/* The type that a row has for objects of that type: the same, or 0 where rows
** have no such type. */
static inline uint8_t mp_capture_type(const mp_capture *c, uint8_t type)
{
  return c->types >> type & 1 ? type : 0;
}

/* The key of a row. where: the place's. */
static inline uint64_t mp_capture_key(uint64_t where, uint32_t zone, int state,
				      uint8_t type, bool special)
{
  return mp_mix(where, (uint64_t)zone << 24 | (uint64_t)special << 16 |
		(uint64_t)type << 8 | (uint8_t)state);
}

/* The row in a slot of the cache, if it has that key; or 0. */
static inline uint32_t mp_cached_row(mp_cached cached, uint64_t key)
{
  uint64_t row = cached - (key & ~(uint64_t)MP_COUNTS_MAX);
  return row <= MP_COUNTS_MAX ? (uint32_t)row : 0;
}

/* The row of the running thread, wherever the thread is. */
uint32_t mp_capture_anew(mp_capture *c, uint8_t type);

/* The row of the running thread, which is at a spot. key: the row's, which
** neither of the first two slots for it has. */
uint32_t mp_capture_known(mp_capture *c, uint64_t key, uint8_t type);

/* The row of the running thread, mostly by one look into the cache: nearly all
** allocations are made where one was made before, on the same stack. */
static inline uint32_t mp_capture_find(mp_capture *c, uint8_t type)
{
  uint64_t key;
  uint32_t row, home;
  mp_spot s;
  if (!mp_where_spot(c->vm, &s)) return mp_capture_anew(c, type);
  key = mp_capture_key(mp_where_spotkey(c->vm, c->walk, &s),
		       mp_capture_zone(c, s.L), s.state, type, false);
  home = (uint32_t)key & c->cachemask;
  row = mp_cached_row(c->cache[home], key);
  if (row == 0) row = mp_cached_row(c->cache[home ^ 1], key);
  if (row == 0) return mp_capture_known(c, key, type);
  c->cut += c->walk->cut;
  return row;
}

/* The same as mp_capture_running, where it is called for each allocation. */
static inline uint32_t mp_capture_quick(mp_capture *c, uint8_t type)
{
  uint32_t row;
  mp_capture_enter(c);
  row = mp_capture_find(c, type);
  mp_capture_leave(c);
  return row;
}

/* The row of a part of an object that has that row: a block of that type, or
** MP_TYPE_UNKNOWN, allocated on the same stack. */
uint32_t mp_capture_newpart(mp_capture *c, uint32_t row, uint8_t type);
static inline uint32_t mp_capture_part(mp_capture *c, uint32_t row,
				       uint8_t type)
{
  const mp_row *rows = c->counts->rows;
  uint32_t part = rows[row].part;
  c->cut += c->walk->cut;
  if (rows[row].type == type) return row;
  return part != 0 && rows[part].type == type ? part :
	 mp_capture_newpart(c, row, type);
}

/* The row of the running thread, which a signal has interrupted in compiled
** code: in the signal's handler, of which that is the context. 0: not known.
** *calm: whether all may be done now that may be done inside the allocator. */
uint32_t mp_capture_interrupted(mp_capture *c, const void *context, bool *calm);

/* The row of the code that is freeing memory. 0: not known. */
uint32_t mp_capture_freeing(mp_capture *c);

/* Functions were collected: others may lie where they were. */
static inline void mp_capture_collected(mp_capture *c)
{
  mp_capture_enter(c);
  mp_walk_collected(c->walk);
  mp_capture_leave(c);
}

/* Forgets the keys that depend on the block, a prototype or a trace of that
** size that is being freed. */
void mp_capture_forget(mp_capture *c, const void *block, size_t size);

/* Makes the VM's buffer large, so that it need not grow while the program
** runs. In a protected call. Raises Lua errors: out of memory. */
int mp_dump_prepare(lua_State *L);

#endif
