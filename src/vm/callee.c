/* SPDX-License-Identifier: MIT */
/*
** See vm/callee.h.
*/
#include "config.h"

#include "vm/callee.h"

#ifdef MP_LAYOUT

#include <string.h>

#include "data/map.h"
#include "vm/dispatch.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/machine.h"
#include "vm/peek.h"

/* -- In the handler ------------------------------------------------------- */

#define NEAR	(256 << 10)	/* Bytes of stack of a C function, at most. */

/* Whether the VM, in the C frame cf, has called a C function that has not
** returned. Another thread's stack is farther away. */
static bool has_called(const char *cf, const void *context)
{
  const uintptr_t *ret = mp_machine_return(cf);
  uint64_t end = ret != NULL ? (uintptr_t)ret : (uintptr_t)cf - 1;
  return end - mp_machine_interrupted(context).sp <= NEAR;
}

/* Whether what the thread's structure says of the running function holds: in
** the interpreter only while it calls a C function, and it may be that of the
** builtin that ended last. The compiler calls C functions of its own. */
static bool is_current(const mp_vm *vm, const char *thread,
		       const void *context, bool *strict)
{
  const char *cf = CF_RAW(AT(void *, thread, L_CFRAME));
  int32_t st = mp_vm_state(vm), nres;
  *strict = st == VM_INTERP;
  if (cf == NULL || !has_called(cf, context)) return false;
  return st == VM_C || st == VM_GC ||
	 (*strict && mp_peek(&nres, cf + CF_NRES, sizeof(nres)) && nres >= 0);
}

/* Notes the function of the frame whose link is at f. */
static bool note(const slot *f, mp_calleeframe *to)
{
  slot words[1 - FRAME_CONT];
  uint64_t func[FUNC_CUPVALUES / sizeof(uint64_t)], link;
  const slot *w = words - FRAME_CONT;
  uint8_t ffid;
  if (!mp_peek(words, f + FRAME_CONT, sizeof(words)) ||
      !mp_peek(func, frame_object(w), sizeof(func)))
    return false;
  ffid = AT(uint8_t, func, FUNC_FFID);
  if (obj_gct(func) != GCT_FUNC || ffid == 0) return false;
  to->cfunc = AT(const void *, func, FUNC_C);
  to->builtin = ffid == FFID_C ? 0 : ffid;
  to->link = link = frame_link(w);
  if (LINK_ISCONT(link)) {
    to->contpc = frame_contpc(w);
    to->cont = frame_cont(w);
  }
  return true;
}

/* Whether Lua code has called the function. */
static bool is_called(const mp_vm *vm, const void *context, mp_callee *c)
{
  uint64_t thread[L_SIZE / sizeof(uint64_t)];
  const char *L = REF(const char *, vm->g, vm->curl);
  const slot *stack, *f;
  bool strict;
  if (mp_vm_ontrace(vm) || !mp_dispatch_listens(vm) ||
      !mp_peek(thread, L, L_SIZE) || obj_gct(thread) != GCT_THREAD ||
      REF(char *, thread, L_GLREF) != vm->g ||
      !is_current(vm, (const char *)thread, context, &strict))
    return false;
  stack = REF(const slot *, thread, L_STACK);
  f = AT(const slot *, thread, L_BASE) - 1;
  c->L = L;
  c->strict = strict;
  while (f > stack + FRAME_SLOTS - 1 && note(f, &c->frames[c->n])) {
    uint64_t link = c->frames[c->n++].link;
    c->at = (uint64_t)(f - stack);
    if (LINK_ISLUA(link)) return true;
    if (LINK_ISCONT(link)) return c->frames[c->n - 1].cont > CONT_CALLBACK;
    if (c->n == MP_CALLEE_MAX || LINK_DELTA(link) / sizeof(slot) >= c->at)
      return false;
    f -= LINK_DELTA(link) / sizeof(slot);
  }
  return false;
}

bool mp_callee_interrupted(const mp_vm *vm, const void *context, mp_callee *c)
{
  memset(c, 0, sizeof(*c));
  return (mp_vm_whereabouts(vm, context) == MP_VM_IDLE && mp_vm_hosted(vm)) ||
	 is_called(vm, context, c);
}

/* -- At the safepoint ----------------------------------------------------- */

#define CALLERS	16		/* Frames above the caller, at most. */

/* Whether the frame whose link is at f is the caller of the lowest one. */
static bool is_caller(const mp_callee *c, const slot *f, const slot *stack,
		      uint64_t pc)
{
  uint64_t link = c->frames[c->n - 1].link, above = c->at - (size_t)(f - stack);
  slot fn = frame_func(f);
  if (!is_lua(fn) || !mp_frame_isfunc(fn) ||
      !mp_proto_has(func_proto(PTR(fn)), pc))
    return false;
  return above == (LINK_ISCONT(link) ? LINK_DELTA(link) / sizeof(slot) :
		   FRAME_SLOTS + (uint64_t)link_a(link));
}

/* The key of the stack at the safepoint becomes that of the other stack. */
static uint64_t key(const mp_callee *c, uint64_t k)
{
  uint64_t i;
  k = mp_mix(mp_mix(k, c->at), c->frames[c->n - 1].link);
  for (i = 0; i < c->n; i++) {
    k = mp_mix(k, (uintptr_t)c->frames[i].cfunc ^ c->frames[i].builtin << 56);
    k = mp_mix(k, c->frames[i].link & LINK_KIND);
  }
  return k;
}

bool mp_callee_find(const mp_callee *c, mp_where *w)
{
  const mp_calleeframe *low = &c->frames[c->n - 1];
  const slot *stack = REF(slot *, w->L, L_STACK), *top = w->base - 1, *f = top;
  uint64_t pc = LINK_ISCONT(low->link) ? low->contpc : low->link;
  int n;
  if (c->L != w->L || w->trace != NULL || w->lost || w->compiling) return false;
  if (c->strict && w->pc != pc + BC_SIZE) return false;
  for (n = 0; n < (c->strict ? 1 : CALLERS) && f > frame_bottom(w->L); n++) {
    if (is_caller(c, f, stack, pc)) {
      w->cframe = mp_frame_cframe(w->L, top, f + 1);
      if (w->cframe == NULL) return false;
      w->base = (slot *)f + 1;
      w->pc = pc;
      w->called = c;
      w->key = key(c, w->key);
      return true;
    }
    f = frame_prev(f);
  }
  return false;
}

#endif
