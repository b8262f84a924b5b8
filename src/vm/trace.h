/* SPDX-License-Identifier: MIT */
/*
** Traces: the running one, and the facts in their constants.
**
** A trace is known by the address of its GCtrace. On the thread that runs the
** VM, inside the allocator too: nothing is written to, no memory is taken.
*/
#ifndef MP_TRACE_H
#define MP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"

/* Whether the array of traces is known, or becomes so now: there are traces.
** Async-signal-safe. */
bool mp_trace_known(mp_vm *vm);

/* The limit below which numbers of traces lie; 0: the array is not known
** yet. */
static inline uint32_t mp_trace_limit(const mp_vm *vm)
{
  return vm->traces ? AT(uint32_t, vm->g, vm->traces + TRACES_SIZE) : 0;
}

/* The trace of that number, or NULL. The array must be known. */
static inline const char *mp_trace_get(const mp_vm *vm, uint32_t n)
{
  return n < mp_trace_limit(vm) ? 
	 REF(const char *, AT(gcref *, vm->g, vm->traces), n * sizeof(gcref)) :
	 NULL;
}

/* The same in any thread that has a copy of the VM's description, with the
** kernel's help: the trace may be gone. False: there is none. */
bool mp_trace_peek(mp_vm *vm, uint32_t n, const char **trace);

/* Whether an address lies in the trace's machine code. */
static inline bool mp_trace_has(const char *T, uint64_t addr)
{
  return addr - AT(uintptr_t, T, TR_MCODE) <= AT(uint32_t, T, TR_SZMCODE);
}

/* The trace whose machine code called the C function that we are in, and the
** address that the function returns to. n: the VM's state, which is not a
** number of a trace while the collector runs. NULL: not found. */
const char *mp_trace_running(mp_vm *vm, lua_State *L, int32_t n,
			     uint64_t *ret);

/* The word that holds the return address of a C function which the trace has
** called; where it has called none, that word is anything. NULL: it may be
** anywhere (vm/machine.h). */
const uintptr_t *mp_trace_return(lua_State *L, const char *trace);

/* Whether the trace that was seen last (vm->last) is running still, or again,
** and in the same C frame. A trace must be running. */
static inline bool mp_trace_same(const mp_vm *vm)
{
  const mp_last_trace *m = &vm->last;
  return m->L != NULL && REF(lua_State *, vm->g, vm->curl) == m->L &&
	 mp_vm_state(vm) == m->number &&
	 mp_trace_get(vm, (uint32_t)m->number) == m->trace &&
	 AT(void *, m->L, L_CFRAME) == m->cframe &&
	 mp_trace_has(m->trace, *m->ret);
}

/* Makes the trace whose number is the VM's state the one that was seen last.
** False: it is not known whether that trace has called the C function that
** runs. */
bool mp_trace_meet(mp_vm *vm);

/* The function that the instruction before `addr` calls at a distance; NULL:
** that is not such a call. */
const void *mp_trace_calls(const char *trace, uint64_t addr);

/* Kind of a constant (one of K_*, or another number); *v: its value if it has
** one. */
int mp_trace_const(const char *trace, uint32_t ref, uint64_t *v);

/* The prototype whose code contains pc, if this trace knows it, or else if any
** other does; or NULL. */
const char *mp_trace_proto(const mp_vm *vm, const char *trace, uint64_t pc);

/* Whether the PC, which lies in a prototype's code, is that of a return. */
bool mp_trace_isret(const mp_vm *vm, uint64_t pc);

/* Whether the PC is an instruction that a trace took the place of: the VM runs
** a copy of it, in the trace. */
bool mp_trace_tookover(mp_vm *vm, uint64_t pc);

#endif
