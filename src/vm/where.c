/* SPDX-License-Identifier: MIT */
/*
** Where a thread is. See vm/where.h.
*/
#include "config.h"

#include "data/map.h"
#include "vm/frame.h"
#include "vm/snap.h"
#include "vm/trace.h"
#include "vm/where.h"

#ifdef MP_LAYOUT

const char *mp_where_cframe(const mp_where *w)
{
  const char *cf = CF_RAW(AT(void *, w->L, L_CFRAME));
  if (w->called != NULL) return w->cframe;
  return w->compiling ? mp_frame_below(cf) : cf;
}

/* On the way out of a trace a protected C call makes the sunk objects again,
** with the exit's PC in its C frame. In the one after that the compiler begins
** another trace: the PC is that of the C frame below. */
static void where_exit(mp_vm *vm, mp_where *w, const char *cf)
{
  mp_snap snap = mp_snap_exit(vm, w->L, w->pc, cf, &w->base);
  w->trace = snap.trace;
  w->snap = snap.snap;
  if (w->trace == NULL && vm->traces != 0 && AT(int32_t, cf, CF_NRES) < 0) {
    w->compiling = true;
    w->pc = mp_frame_toppc(mp_where_cframe(w));
  }
  w->lost = w->trace == NULL && !w->compiling;
}

static inline bool where(mp_vm *vm, lua_State *L, mp_where *w)
{
  int32_t st = mp_vm_state(vm);
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  *w = (mp_where){ .L = L, .base = mp_vm_jitbase(vm) };
  if (cf == NULL) return false;
  if (w->base != NULL) {
    w->trace = mp_trace_running(vm, L, st, &w->pc);
    w->lost = w->trace == NULL;
  } else {
    w->base = AT(slot *, L, L_BASE);
    w->compiling = mp_where_compiling(st, cf);
    w->pc = mp_frame_toppc(mp_where_cframe(w));
    if (st == VM_EXIT) where_exit(vm, w, cf);
  }
  return w->base > lowest_base(L);
}

static inline void set_key(const mp_vm *vm, mp_walk *walk, mp_where *w)
{
  const slot *top = w->base - 1;
  uint64_t frames;
  mp_where_renew(vm, walk);
  frames = mp_walk_key(walk, w->L, w->base - 1);
  w->key = mp_where_keyof(walk, frames, frame_func(top), w->trace, w->pc);
  if (w->snap != NULL) w->key = mp_mix(w->key, (uint64_t)(uintptr_t)w->snap);
  if (w->next) w->key = mp_mix(w->key, 2);
  if (w->lost) w->key = mp_mix(w->key, 1);
}

/* In mode "f" compiled code that is left at a return has already continued in
** the caller: there is no snapshot until the next function. */
static void leave_function(const mp_vm *vm, mp_where *w)
{
  const slot *bottom = lowest_base(w->L), *f;
  slot fn = frame_func(w->base - 1);
  uint64_t pc;
  if (!is_lua(fn) || !mp_frame_isfunc(fn) ||
      !mp_proto_has(func_proto(PTR(fn)), w->pc) || !mp_trace_isret(vm, w->pc))
    return;
  f = mp_frame_left(w->base - 1, bottom, &pc);
  if (f == NULL) return;
  w->base = frame_prev(f) + 1;
  w->pc = pc;
  w->returned = true;
}

bool mp_where_safepoint(mp_vm *vm, mp_walk *walk, lua_State *L, bool compiled,
			mp_where *w)
{
  if (!where(vm, L, w)) return false;
  if (compiled && vm->coarse && w->trace == NULL && !w->lost && !w->compiling)
    leave_function(vm, w);
  set_key(vm, walk, w);
  return true;
}

bool mp_where_running(mp_vm *vm, mp_walk *walk, mp_where *w, int *state)
{
  lua_State *L = mp_vm_thread(vm);
  *state = mp_vm_letter(vm);
  w->L = L;
  if (*state == 'G' || L == NULL || !where(vm, L, w)) return false;
  set_key(vm, walk, w);
  return true;
}

bool mp_where_key(const mp_vm *vm, mp_walk *walk, mp_where *w)
{
  set_key(vm, walk, w);
  return !walk->cut;
}

#endif
