/* SPDX-License-Identifier: MIT */
/*
** The place of a thread: on a trace or not, and the key of its stack.
**
** For the thread that runs the VM, also inside the allocator: these functions
** do not write to the VM's memory and raise no error.
*/
#ifndef MP_WHERE_H
#define MP_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "vm/frame.h"
#include "vm/trace.h"
#include "vm/vm.h"
#include "vm/walk.h"

typedef struct mp_where {
  lua_State *L;			/* The thread. */
  const char *trace;		/* Running trace (GCtrace), or NULL. */
  const char *snap;		/* Its snapshot, once it was looked for. */
  bool next;			/* The place comes before that snapshot. */
  uint64_t *base;		/* Base of the top frame, or the trace's. */
  uint64_t pc;			/* Of the top Lua function, or in the trace. */
  uint64_t key;			/* Of the stack; valid until code is freed. */
  bool lost;			/* On a trace of which nothing is known. */
  bool compiling;		/* In the JIT compiler. */
  bool returned;		/* Not the top function, but its caller. */
  bool cut;			/* The frames below the lowest are not known. */
  const struct mp_callee *called;  /* What it has called, and is not on the */
				/* stack any more (vm/callee.h); or NULL: */
  const char *cframe;		/* then the C frame that it runs in. */
} mp_where;

/* The place of a thread that runs a trace which was seen before, or is in the
** interpreter or in a C function that it called. Nearly all allocations are
** made in such places, where a few words tell all. */
typedef struct mp_spot {
  lua_State *L;			/* As in mp_where. */
  const char *trace;
  uint64_t *base;
  uint64_t pc;
  uint64_t func;		/* The function on top, as it is stored. */
  int state;			/* One of "NCI". */
} mp_spot;

/* The spot of the running thread, inside the allocator. False: it is at none;
** mp_where_running finds out where it is. */
static inline bool mp_where_spot(mp_vm *vm, mp_spot *s);

/* The key of a spot: the one that mp_where_running finds for the same place. */
static inline uint64_t mp_where_spotkey(const mp_vm *vm, mp_walk *walk,
					const mp_spot *s);

/* Finds the place of L, which is running and at a safepoint; compiled: it came
** there from compiled code. False: there is no Lua stack to look at. */
bool mp_where_safepoint(mp_vm *vm, mp_walk *walk, lua_State *L, bool compiled,
			mp_where *w);

/* The same for the running thread, inside the allocator. w->L is NULL if the
** thread is not known. *state: the VM state as one of "NICGJ"; while the
** collector runs (G), nothing is looked at. */
bool mp_where_running(mp_vm *vm, mp_walk *walk, mp_where *w, int *state);

/* Sets the key of a place that is known otherwise. False: the stack has more
** frames than there is room for. */
bool mp_where_key(const mp_vm *vm, mp_walk *walk, mp_where *w);

/* The C frame that the top function runs in. */
const char *mp_where_cframe(const mp_where *w);

#ifdef MP_LAYOUT

/* The compiler works inside a protected C call: that C frame has no result
** count, but an offset into the stack. The VM state does not tell: it is the
** same while the interpreter runs the program and the compiler records. */
static inline bool mp_where_compiling(int32_t st, const char *cf)
{
  return (st == VM_INTERP || st < VM_EXIT) && AT(int32_t, cf, CF_NRES) < 0;
}

static inline __attribute__((always_inline))
bool mp_spot_ontrace(mp_vm *vm, mp_spot *s)
{
  const mp_last_trace *m = &vm->last;
  if (!mp_trace_same(vm) && !mp_trace_meet(vm)) return false;
  *s = (mp_spot){ m->L, m->trace, mp_vm_jitbase(vm), *m->ret, 0, 'N' };
  return true;
}

static inline __attribute__((always_inline))
bool mp_spot_interpreted(mp_vm *vm, mp_spot *s)
{
  int32_t st = mp_vm_state(vm);
  lua_State *L = mp_vm_thread(vm);
  const char *cf = L != NULL ? CF_RAW(AT(void *, L, L_CFRAME)) : NULL;
  if (cf == NULL || (st != VM_C && st != VM_INTERP)) return false;
  if (mp_where_compiling(st, cf)) return false;
  *s = (mp_spot){ L, NULL, AT(uint64_t *, L, L_BASE), mp_frame_toppc(cf), 0,
		  st == VM_C ? 'C' : 'I' };
  return true;
}

static inline __attribute__((always_inline))
bool mp_where_spot(mp_vm *vm, mp_spot *s)
{
  bool found = mp_vm_ontrace(vm) ? mp_spot_ontrace(vm, s) :
				   mp_spot_interpreted(vm, s);
  if (!found || s->base <= lowest_base(s->L))
    return false;
  s->func = frame_func(s->base - 1);
  return true;
}

/* Functions may lie where others did, once a collection has begun its sweep. */
static inline void mp_where_renew(const mp_vm *vm, mp_walk *walk)
{
  if (walk->white == mp_vm_white(vm)) return;
  walk->white = mp_vm_white(vm);
  mp_walk_collected(walk);
}

/* The key of all that a stack depends on: the key of the frames below the top
** one, the function on top as it is stored, the trace or NULL, and the PC. */
static inline uint64_t mp_where_keyof(const mp_walk *walk, uint64_t frames,
				      uint64_t func, const char *trace,
				      uint64_t pc)
{
  uint64_t key = frames;
  if (TAG(func) == TAGFUNC)
    key += mp_walk_word(walk, func_id(PTR(func))) *
	   UINT64_C(0xd6e8feb86659fd93);
  if (trace == NULL) pc = mp_walk_word(walk, pc);
  else key += mp_walk_word(walk, (uintptr_t)trace) *
	      UINT64_C(0xa0761d6478bd642f);
  return key + pc * UINT64_C(0x8ebc6af09c88c6e3);
}

static inline uint64_t mp_where_spotkey(const mp_vm *vm, mp_walk *walk,
					const mp_spot *s)
{
  uint64_t frames;
  mp_where_renew(vm, walk);
  frames = mp_walk_key(walk, s->L, s->base - 1);
  return mp_where_keyof(walk, frames, s->func, s->trace, s->pc);
}

#else

static inline bool mp_where_spot(mp_vm *vm, mp_spot *s)
{
  (void)vm; (void)s;
  return false;
}

static inline uint64_t mp_where_spotkey(const mp_vm *vm, mp_walk *walk,
					const mp_spot *s)
{
  (void)vm; (void)walk; (void)s;
  return 0;
}

#endif

#endif
