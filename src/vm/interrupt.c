/* SPDX-License-Identifier: MIT */
/*
** Interrupted compiled code. See vm/interrupt.h.
*/
#include "config.h"

#include "vm/interrupt.h"

#ifdef MP_LAYOUT

#include "vm/snap.h"
#include "vm/trace.h"

/* Whether an instruction of the trace is there. */
static bool has_instruction(const char *T, uint64_t pc)
{
  return pc - AT(uintptr_t, T, TR_MCODE) < AT(uint32_t, T, TR_SZMCODE);
}

/* Bytes of stack that C functions called by a trace have at most. Another
** thread's stack is farther away: the VM may have gone on in that thread. */
#define NEAR	(256 << 10)

/* Whether the trace has called a C function that has not returned. The word
** where its return address would be may be anything else, and below the stack
** pointer it is that of a function that has returned. */
__attribute__((no_sanitize_address))
static bool has_called(lua_State *L, const char *T, uint64_t sp, uint64_t *addr)
{
  const uintptr_t *ret = mp_trace_return(L, T);
  if (ret == NULL || (uintptr_t)ret - sp > NEAR || !mp_trace_has(T, *ret))
    return false;
  *addr = *ret;
  return true;
}

/* The only trace that can have called the collector, or NULL. */
static const char *caller_of_collector(const mp_vm *vm, lua_State *L,
				       uint64_t sp, uint64_t *addr)
{
  uint32_t i, size = mp_trace_limit(vm);
  const char *found = NULL;
  uint64_t ret;
  for (i = 1; i < size; i++) {
    const char *T = mp_trace_get(vm, i);
    if (T == NULL || !has_called(L, T, sp, &ret) ||
	mp_trace_calls(T, ret) == NULL)
      continue;
    if (found != NULL) return NULL;
    found = T;
    *addr = ret;
  }
  return found;
}

/* The trace that is running. *addr: where it is, which is the return address of
** the C function if pc lies in none. NULL: not known. */
static const char *running(const mp_vm *vm, lua_State *L,
			   const mp_machine_place *at, uint64_t *addr)
{
  uint32_t i, size = mp_trace_limit(vm);
  int32_t n = mp_vm_state(vm);
  const char *T = n > 0 ? mp_trace_get(vm, (uint32_t)n) : NULL;
  *addr = at->pc;
  if (T != NULL && has_instruction(T, at->pc)) return T;
  if (n == VM_GC) return caller_of_collector(vm, L, at->sp, addr);
  for (i = 1; i < size; i++) {  /* It has just gone on in another one. */
    const char *other = mp_trace_get(vm, i);
    if (other != NULL && has_instruction(other, at->pc)) return other;
  }
  return T != NULL && has_called(L, T, at->sp, addr) ? T : NULL;
}

/* -- The place ----------------------------------------------------------- */

bool mp_interrupt_splits(const void *context, const void *begin, size_t size)
{
  return mp_machine_splits(context, begin, size);
}

static bool splits_slot(lua_State *L, const void *context)
{
  return mp_machine_splits(context, REF(void *, L, L_STACK),
			   AT(uint32_t, L, L_STACKSIZE) * sizeof(slot));
}

/* Finds the snapshot of an interrupted instruction. A trace that goes on in
** another one, or in itself, puts the base of that one in its place first. */
static mp_snap find_snap(const mp_vm *vm, const void *context, const char *T,
			 uint64_t pc)
{
  uint64_t base = (uint64_t)(uintptr_t)(vm->g + vm->jitbase);
  return mp_snap_interrupted(vm, T, pc,
    (int32_t)(base - mp_machine_global(context)));
}

bool mp_interrupt_where(mp_vm *vm, const void *context, mp_where *w,
			int *state, bool *calm)
{
  const mp_machine_place at = mp_machine_interrupted(context);
  uint64_t addr;
  mp_snap snap;
  lua_State *L = mp_vm_ontrace(vm) ? mp_vm_thread(vm) : NULL;
  if (L == NULL || !mp_trace_known(vm)) return false;
  *w = (mp_where){ .L = L, .base = mp_vm_jitbase(vm) };
  w->trace = running(vm, L, &at, &addr);
  if (w->trace == NULL || w->base <= lowest_base(L))
    return false;
  *calm = addr == at.pc;
  if (*calm && splits_slot(L, context)) return false;
  *state = mp_vm_letter(vm);
  snap = *calm ? find_snap(vm, context, w->trace, addr) :
	 mp_snap_call(vm, w->trace, addr);
  if (snap.snap == NULL) return false;
  w->trace = snap.trace;
  w->snap = snap.snap;
  w->next = snap.next;
  w->pc = AT(uintptr_t, w->trace, TR_MCODE) + mp_snap_offset(w->snap);
  return true;
}

#endif
