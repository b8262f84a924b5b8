/* SPDX-License-Identifier: MIT */
/*
** Traces. See vm/trace.h.
*/
#include "config.h"

#include <string.h>

#include "vm/frame.h"
#include "vm/peek.h"
#include "vm/trace.h"
#include "vm/unwind.h"

#ifdef MP_LAYOUT

#define TRACES_ASKED	8	/* Traces that are looked at for a proof. */
#define TRIES		400	/* To learn the frames of C functions. */

/* -- The trace array ----------------------------------------------------- */

/* The stack pointer of a running trace. */
static const char *stack_pointer(lua_State *L, const char *T)
{
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  return cf - CF_SPILL - AT(uint16_t, T, TR_SPADJUST);
}

const uintptr_t *mp_trace_return(lua_State *L, const char *T)
{
  return mp_machine_return(stack_pointer(L, T));
}

/* Whether these are traces, each under its number; one at least. The memory
** need not be there: the kernel reads it for us. */
static bool are_traces(const gcref *traces, uint32_t size)
{
  uint32_t n, found = 0;
  for (n = 1; n < size && found < TRACES_ASKED; n++) {
    _Alignas(8) char head[TR_MINSIZE];
    const char *T;
    gcref r;
    if (!mp_peek(&r, traces + n, sizeof(r))) return false;
    if (r == 0) continue;
    T = (const char *)(uintptr_t)r;
    if (((uintptr_t)T & 7) || !mp_peek(head, T, sizeof(head)) ||
	obj_gct(head) != GCT_TRACE || AT(uint16_t, head, TR_NUMBER) != n)
      return false;
    found++;
  }
  return found > 0;
}

/* Looks for the trace array behind the global state: pointer, first free
** number, size. False: there are no traces yet. */
static __attribute__((noinline)) bool find_array(mp_vm *vm)
{
  uint32_t ofs;
  ofs = (vm->curl + (uint32_t)WORD - 1) & ~((uint32_t)WORD - 1);
  for (; ofs < J_ARRAY_SEARCH; ofs += (uint32_t)WORD) {
    const gcref *traces = AT(const gcref *, vm->g, ofs);
    uint32_t nfree = AT(uint32_t, vm->g, ofs + TRACES_FREE);
    uint32_t size = AT(uint32_t, vm->g, ofs + TRACES_SIZE);
    if (traces == NULL || ((uintptr_t)traces & 7) ||
	(uint64_t)(uintptr_t)traces >> 47 || size < 2 ||
	size > TRACES_MAX || nfree > size)
      continue;
    if (are_traces(traces, size)) {
      vm->traces = ofs;
      return true;
    }
  }
  return false;
}

bool mp_trace_known(mp_vm *vm) { return vm->traces != 0 || find_array(vm); }

bool mp_trace_peek(mp_vm *vm, uint32_t n, const char **trace)
{
  const gcref *traces;
  gcref r;
  if (!mp_trace_known(vm) || n >= mp_trace_limit(vm)) return false;
  traces = AT(const gcref *, vm->g, vm->traces);
  if (!mp_peek(&r, traces + n, sizeof(r))) return false;
  *trace = (const char *)(uintptr_t)r;
  return r != 0;
}

/* -- The running trace --------------------------------------------------- */

/* The trace that has that address, or NULL. */
static const char *trace_at(const mp_vm *vm, uint64_t addr)
{
  uint32_t i, size = mp_trace_limit(vm);
  for (i = 1; i < size; i++) {
    const char *T = mp_trace_get(vm, i);
    if (T != NULL && mp_trace_has(T, addr)) return T;
  }
  return NULL;
}

/* Unwinding the C stack from here: the innermost return into a trace. */
typedef struct unwound {
  mp_vm *vm;
  const char *trace;
  mp_step at;
} unwound;

static _Unwind_Reason_Code unwind_step(struct _Unwind_Context *context,
				       void *data)
{
  unwound *u = data;
  mp_step at = { _Unwind_GetIP(context),
		 (const char *)(uintptr_t)_Unwind_GetCFA(context), NULL };
  if (!CALL_SAVES) mp_cframes_note(&u->vm->frames, &u->at, &at);
  u->at = at;
  u->trace = trace_at(u->vm, at.ip);
  return u->trace != NULL ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Meets the trace of that number. False: there is none, or it is not the one
** that called the C function that runs. */
static bool meet(mp_vm *vm, lua_State *L, int32_t n)
{
  const char *T = n > 0 ? mp_trace_get(vm, (uint32_t)n) : NULL;
  const uintptr_t *ret = T != NULL ? mp_trace_return(L, T) : NULL;
  if (ret == NULL || !mp_trace_has(T, *ret)) return false;
  vm->last = (mp_last_trace){ L, AT(void *, L, L_CFRAME), T, n, ret };
  return true;
}

/* The same by the frames of the C functions that it has called, where its own
** number is not known: vm->last has none then, and mp_trace_same does not know
** it again. */
static __attribute__((noinline)) bool meet_above(mp_vm *vm, lua_State *L)
{
  const char *T = vm->last.L != NULL ? vm->last.trace : NULL;
  mp_step at = vm->from;
  unwound u = { vm, NULL, { 0, NULL, NULL } };
  if (at.ip == 0) return false;
  vm->from.ip = 0;
  mp_cframes_climb(&vm->frames, &at, CF_RAW(AT(void *, L, L_CFRAME)));
  if (T == NULL || !mp_trace_has(T, at.ip)) T = trace_at(vm, at.ip);
  if (T != NULL && at.ret != NULL && at.sp == stack_pointer(L, T)) {
    vm->last = (mp_last_trace){ L, AT(void *, L, L_CFRAME), T, 0, at.ret };
    return true;
  }
  if (vm->frames.tries++ < TRIES) mp_unwind(unwind_step, &u);  /* To learn. */
  return false;
}

bool mp_trace_meet(mp_vm *vm)
{
  int32_t n = mp_vm_state(vm);
  lua_State *L = mp_vm_thread(vm);
  if (L == NULL || AT(void *, L, L_CFRAME) == NULL || !mp_trace_known(vm))
    return false;
  return n == 0 ? meet_above(vm, L) : meet(vm, L, n);
}

const char *mp_trace_running(mp_vm *vm, lua_State *L, int32_t n, uint64_t *ret)
{
  unwound u = { vm, NULL, { 0, NULL, NULL } };
  if (!mp_trace_known(vm)) return NULL;
  if (meet(vm, L, n)) {
    *ret = *vm->last.ret;
    return vm->last.trace;
  }
  if (!mp_unwind(unwind_step, &u)) return NULL;
  *ret = u.at.ip;
  return u.trace;
}

/* -- Calls --------------------------------------------------------------- */

const void *mp_trace_calls(const char *T, uint64_t addr)
{
  const uint8_t *call = (const uint8_t *)(uintptr_t)addr - CALL_SIZE;
  return call >= AT(const uint8_t *, T, TR_MCODE) ? mp_machine_call(call) :
	 NULL;
}

/* -- Constants ----------------------------------------------------------- */

int mp_trace_const(const char *T, uint32_t ref, uint64_t *v)
{
  const char *ir = AT(const char *, T, TR_IR);
  int op = AT(uint8_t, ir, (size_t)ref * IR_SIZE + IR_OP) -
	   AT(uint8_t, ir, (size_t)REF_NIL * IR_SIZE + IR_OP);
  if (CONST_WIDE(op)) *v = AT(uint64_t, ir, (size_t)(ref + 1) * IR_SIZE);
  else *v = AT(uint32_t, ir, (size_t)ref * IR_SIZE);
  return op;
}

/* The prototype among a trace's constants whose code contains pc. */
static const char *constant_proto(const char *T, uint64_t pc)
{
  const char *pt = REF(const char *, T, TR_STARTPT);
  uint32_t ref;
  if (pt != NULL && mp_proto_has(pt, pc)) return pt;
  for (ref = AT(uint32_t, T, TR_NK); ref < REF_CONST; ref++) {
    uint64_t v;
    int op = mp_trace_const(T, ref, &v);
    if (op == K_GC) {
      const char *o = (const char *)(uintptr_t)v;
      pt = obj_gct(o) == GCT_PROTO ? o :
	   obj_gct(o) == GCT_FUNC ? func_proto(o) : NULL;
      if (pt != NULL && mp_proto_has(pt, pc)) return pt;
    }
    if (CONST_WIDE(op))
      ref++;  /* The value takes the place of an instruction. */
  }
  return NULL;
}

const char *mp_trace_proto(const mp_vm *vm, const char *T, uint64_t pc)
{
  const char *pt = constant_proto(T, pc);
  uint32_t i, size = mp_trace_limit(vm);
  for (i = 1; pt == NULL && i < size; i++)
    if ((T = mp_trace_get(vm, i)) != NULL) pt = constant_proto(T, pc);
  return pt;
}

bool mp_trace_isret(const mp_vm *vm, uint64_t pc)
{
  const char *ins = (const char *)(uintptr_t)pc - BC_SIZE;
  uint8_t op = AT(uint8_t, ins, 0);
  if (op == BC_JLOOP) {
    const char *T = mp_trace_get(vm, AT(uint16_t, ins, BC_D));
    op = T != NULL ? AT(uint8_t, T, TR_STARTINS) : 0;
  }
  return op >= BC_RETM && op <= BC_RET1;
}

bool mp_trace_tookover(mp_vm *vm, uint64_t pc)
{
  uint32_t i, size;
  if (!mp_trace_known(vm)) return false;
  size = mp_trace_limit(vm);
  for (i = 1; i < size; i++) {
    const char *T = mp_trace_get(vm, i);
    if (T != NULL && (uint64_t)(uintptr_t)(T + TR_STARTINS) == pc - BC_SIZE)
      return true;
  }
  return false;
}

#endif
