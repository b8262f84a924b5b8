/* SPDX-License-Identifier: MIT */
/*
** See vm/copy.h.
*/
#include "config.h"

#include <string.h>

#include "vm/callee.h"
#include "vm/copy.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/snap.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

/* Slots that the frames of a trace may take: their numbers have 8 bits. */
#define VIEW_CLEAR	600

#define COPY_FRAMES	4	/* Frames copied from below the trace's. */

/* A function, not filled in; NULL: there is no room. */
static uint64_t *new_function(mp_copy *c)
{
  uint64_t *fn = c->funcs[c->nfuncs];
  if (c->nfuncs >= MP_COPY_FUNCS) return NULL;
  c->nfuncs++;
  memset(fn, 0, sizeof(c->funcs[0]));
  AT(uint8_t, fn, OBJ_GCT) = GCT_FUNC;
  return fn;
}

/* A function of that prototype, enough for lua_getinfo. */
static slot stand_in(mp_copy *c, const char *pt)
{
  uint64_t *fn = new_function(c);
  if (fn == NULL) return 0;
  SET_REF(fn, FUNC_PC, pt + PT_BC);
  return MKFUNC(fn);
}

/* Whether a constant of that kind is a word as it stands on the stack. */
static bool is_word(int op)
{
  return op == K_PTR || op == K_KPTR || op == K_NUM || op == K_INT64;
}

/* Lowest slot that must be copied, so that the names of the frames of a trace
** can be found: they are in the function that called its lowest frame, which
** may lie under a frame of varargs. */
static slot *lowest_slot(lua_State *L, slot *frame)
{
  slot *stack = REF(slot *, L, L_STACK), *bottom = frame_bottom(L);
  int n;
  for (n = 0; n < COPY_FRAMES && frame > bottom; n++)
    frame = frame_prev(frame);
  return frame + FRAME_CONT > stack ? frame + FRAME_CONT : stack;
}

void mp_copy_thread(mp_copy *c, lua_State *L, const char *cf, uint64_t pc)
{
  memcpy(c->thread, L, L_SIZE);
  memcpy(c->cframe, cf, CF_SIZE);
  c->L = (lua_State *)c->thread;
  AT(void *, c->thread, L_CFRAME) = c->cframe;
  AT(slot *, c->thread, L_BASE) = c->base;
  if (REF(slot *, c->thread, L_MAXSTACK) < c->base)
    SET_REF(c->thread, L_MAXSTACK, c->base);
  if (pc != 0) {
    AT(gcref, c->cframe, CF_PC) = (gcref)pc;
  } else {  /* The VM itself writes this where there is no PC. */
    AT(gcref, c->cframe, CF_PC) = AT(gcref, c->cframe, CF_L);
  }
}

/* Copies the slots from `low` to below the frame at `base` into the copy, and
** clears those above. Returns the place of `base` there; NULL: no room. */
static slot *copy_stack(mp_copy *c, const slot *low, const slot *base)
{
  size_t n = (size_t)(base - low);
  if (n > MP_COPY_SLOTS - VIEW_CLEAR) return NULL;
  memcpy(c->stack, low, n * sizeof(slot));
  memset(c->stack + n, 0, VIEW_CLEAR * sizeof(slot));
  return c->stack + n;
}

/* Gives the made-up thread a stack. moved: its distance from the real one. */
static void show(mp_copy *c, slot *base, uintptr_t moved)
{
  uintptr_t end;
  if (c->vbase == NULL) return;
  end = REF(uintptr_t, c->real, L_MAXSTACK) + moved;
  if (end < (uintptr_t)base) end = (uintptr_t)base;
  SET_REF(c->thread, L_STACK, REF(uintptr_t, c->real, L_STACK) + moved);
  SET_REF(c->thread, L_MAXSTACK, end);
  AT(slot *, c->thread, L_BASE) = base;
  AT(slot *, c->thread, L_TOP) = base;
}

void mp_copy_show_copy(mp_copy *c)
{
  show(c, c->vtop, (uintptr_t)c->vbase - (uintptr_t)c->base);
}

void mp_copy_show_stack(mp_copy *c) { show(c, c->base, 0); }

/* Lays the snapshot's frames over the copy. `frame`: slot 0 of the trace. */
#ifdef MP_REFS32

/* The links of frames above the lowest one stand behind the entries, the lowest
** last, each behind the PC of its continuation. */
static void copy_snapshot(const mp_where *w, slot *frame)
{
  const uint32_t *map = mp_snap_entries(w->trace, w->snap);
  const uint32_t *links = mp_snap_end(w->trace, w->snap);
  uint32_t i, nent = AT(uint8_t, w->snap, SNAP_NENT);
  for (i = 0; i < nent; i++) {
    uint32_t e = map[i], s = ENT_SLOT(e);
    uint64_t v;
    int op = ENT_REF(e) < TR_INS0 ?
	     mp_trace_const(w->trace, ENT_REF(e), &v) : 0;
    if (e & ENT_NORESTORE) {
      if (s > 0) frame[s] = w->base[(int)s - FRAME_SLOTS];
    } else if (e & (ENT_FRAME | ENT_CONT)) {
      bool known = e & ENT_CONT ? is_word(op) : op == K_GC;
      set_func(&frame[s], known ? v : 0);
      if (s > 0) set_link(&frame[s], *--links);
    } else if (op == K_GC) {
      if (obj_gct((char *)(uintptr_t)v) == GCT_FUNC) frame[s] = MKFUNC(v);
    } else if (is_word(op)) {
      frame[s] = v;
    }
  }
}

#else

static void copy_snapshot(const mp_where *w, slot *frame)
{
  const uint32_t *map = mp_snap_entries(w->trace, w->snap);
  uint32_t i, nent = AT(uint8_t, w->snap, SNAP_NENT);
  slot *real = w->base - FRAME_SLOTS;
  for (i = 0; i < nent; i++) {
    uint32_t e = map[i], s = ENT_SLOT(e);
    uint64_t v;
    int op = ENT_REF(e) < TR_INS0 ?
	     mp_trace_const(w->trace, ENT_REF(e), &v) : 0;
    if (e & ENT_NORESTORE) {
      if (s > 1) frame[s] = real[s];
    } else if (op == K_GC) {
      if (obj_gct((char *)(uintptr_t)v) == GCT_FUNC) frame[s] = MKFUNC(v);
    } else if (is_word(op)) {
      frame[s] = v;
    }
    /* The function below a link that is not listed is on the stack. */
    if ((e & ENT_FRAME) && s > 1 &&
	(i == 0 || ENT_SLOT(map[i - 1]) != s - 1))
      frame[s - 1] = real[s - 1];
  }
}

#endif

/* Puts stand-ins, of the prototype that contains the PC, for the functions
** above the trace's base that are not known. False: a frame makes no sense. */
static bool copy_functions(mp_copy *c, const mp_vm *vm, const mp_where *w,
			   slot *f, slot *lim, uint64_t pc)
{
  while (f >= lim) {
    uint64_t link = frame_link(f);
    slot fn = frame_func(f);
    bool ok = mp_frame_isfunc(fn);
    const char *pt = ok ? func_proto(PTR(fn)) : NULL;
    if (f == lim && ok && pc == 0) return true;
    if (!ok || (pt != NULL && pc != 0 && !mp_proto_has(pt, pc))) {
      pt = pc ? mp_trace_proto(vm, w->trace, pc) : NULL;
      if (pt == NULL || (fn = stand_in(c, pt)) == 0) return false;
      set_func(f, fn);
    }
    if (f == lim) return true;
    if (LINK_ISVARG(link)) {	/* The same function, once more. */
      slot *below = frame_prev(f);
      if (below <= lim) return below == lim;
      set_func(below, fn);
      f = below;
      link = frame_link(f);
    }
    if (LINK_ISLUA(link)) {
      pc = link;
      if (pc == 0 || mp_trace_proto(vm, w->trace, pc) == NULL) return false;
    } else {
      pc = LINK_ISCONT(link) ? frame_contpc(f) : 0;
    }
    if (frame_prev(f) >= f) return false;
    f = frame_prev(f);
  }
  return false;
}

/* Looks for the snapshot of a place on a trace, if it is not known. */
static void find_snapshot(const mp_vm *vm, mp_where *w)
{
  mp_snap snap;
  if (w->snap != NULL || w->trace == NULL) return;
  snap = mp_snap_call(vm, w->trace, w->pc);
  w->trace = snap.trace;
  w->snap = snap.snap;
  w->next = snap.next;
}

/* The PC behind the instruction that runs, as a C frame saves it: that of the
** snapshot, or of the one before it. A trace may begin at a function's first
** instruction, which none comes before. */
static uint64_t place_pc(const mp_vm *vm, const mp_where *w, uint32_t *baseofs)
{
  uint64_t pc = mp_snap_pc(w->trace, w->snap, baseofs);
  return w->next && mp_trace_proto(vm, w->trace, pc) != NULL ? pc :
	 pc + BC_SIZE;
}

/* LuaJIT's profiler makes a snapshot at a return, but in mode "f" none behind
** it, nor with lines where a function returns to itself and to the same line:
** all that follows up to the next one is the caller's. A guard makes one, too:
** what follows up to the check is still the function's. Returns the PC, behind
** the instruction that follows the call: that of the call may have another
** line. */
static uint64_t return_to_caller(mp_copy *c, const mp_vm *vm,
				 const mp_where *w, uint64_t pc)
{
  const char *callee = mp_trace_proto(vm, w->trace, pc), *caller;
  uint64_t goes_on;
  const slot *f;
  if (callee == NULL || !mp_trace_isret(vm, pc)) return pc;
  f = mp_frame_left(c->vtop - 1, c->vbase - 1, &goes_on);
  caller = f != NULL ? mp_trace_proto(vm, w->trace, goes_on) : NULL;
  if (caller == NULL ||
      ((vm->coarse || caller != callee) && mp_snap_checks(w->trace, w->snap)))
    return pc;
  f = frame_prev(f);
  if (f < c->vbase - 1) return pc;
  c->vtop = (slot *)f + 1;
  AT(gcref, c->cframe, CF_PC) = (gcref)goes_on + BC_SIZE;
  return goes_on + BC_SIZE;
}

/* -- Functions that have returned ----------------------------------------- */

#define CFRAME_SLOTS	4	/* Of a C function, with a continuation. */

/* Lays the frame of that C function over the copy, with its link at f. */
static void copy_cframe(mp_copy *c, const mp_calleeframe *from, slot *f,
			uint64_t link)
{
  uint64_t *fn = new_function(c);
  AT(uint8_t, fn, FUNC_FFID) = from->builtin ? (uint8_t)from->builtin : FFID_C;
  AT(const void *, fn, FUNC_C) = from->cfunc;
  set_link(f, link);
  set_func(f, MKFUNC(fn));
  if (LINK_ISCONT(link)) set_cont(f, from->cont, from->contpc);
}

/* The arguments of those above the lowest one are left out. */
bool mp_copy_called(mp_copy *c, const mp_where *w)
{
  const mp_callee *called = w->called;
  size_t above = called->at + 1 -
    (size_t)(w->base - REF(slot *, w->L, L_STACK));
  int i = (int)called->n - 1;
  slot *f;
  c->nfuncs = 0;
  if (above + MP_CALLEE_MAX * CFRAME_SLOTS > VIEW_CLEAR) return false;
  mp_copy_thread(c, w->L, w->cframe, w->pc);
  c->vbase = copy_stack(c, lowest_slot(w->L, w->base - 1), w->base);
  if (c->vbase == NULL) return false;
  f = c->vbase - 1 + above;
  copy_cframe(c, &called->frames[i], f, called->frames[i].link);
  while (i-- > 0) {
    f += CFRAME_SLOTS;
    copy_cframe(c, &called->frames[i], f, CFRAME_SLOTS * sizeof(slot) |
		(called->frames[i].link & LINK_KIND));
  }
  c->vtop = f + 1;
  return true;
}

/* -- Traces --------------------------------------------------------------- */

bool mp_copy_trace(mp_copy *c, const mp_vm *vm, const mp_where *w)
{
  mp_where at = *w;
  uint32_t baseofs = 0;
  uint64_t pc = 0;
  slot *frame;
  bool ok;
  find_snapshot(vm, &at);
  if (at.snap != NULL) pc = place_pc(vm, &at, &baseofs);
  c->nfuncs = 0;
  mp_copy_thread(c, w->L, mp_where_cframe(w), pc);
  c->vbase = copy_stack(c, lowest_slot(w->L, w->base - 1), w->base);
  if (c->vbase == NULL) return false;
  frame = c->vbase - FRAME_SLOTS;
  if (at.snap != NULL) copy_snapshot(&at, frame);
  c->vtop = c->vbase + baseofs;
  if (at.snap != NULL && !at.next) pc = return_to_caller(c, vm, &at, pc);
  ok = at.snap != NULL &&
       frame_link(c->vbase - 1) == frame_link(w->base - 1) &&
       copy_functions(c, vm, &at, c->vtop - 1, c->vbase - 1, pc);
  if (!ok) {  /* Only what is on the stack for certain. */
    memcpy(frame, w->base - FRAME_SLOTS, FRAME_SLOTS * sizeof(slot));
    c->vtop = c->vbase;
    AT(gcref, c->cframe, CF_PC) = AT(gcref, c->cframe, CF_L);
  }
  return true;
}

#endif
