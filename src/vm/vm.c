/* SPDX-License-Identifier: MIT */
/*
** The VM's state and its running thread. See vm/vm.h.
*/
#include "config.h"

#include <pthread.h>

#include "vm/vm.h"

#ifdef MP_LAYOUT

/* A C frame lies above the frame that looks for it, and not that far away. */
#define C_STACK		((size_t)8 << 20)

lua_State *mp_vm_find_thread(mp_vm *vm)
{
  char *L = REF(char *, vm->g, vm->curl), *cf;
  if (L == NULL || ((uintptr_t)L & 7) || obj_gct(L) != GCT_THREAD ||
      REF(char *, L, L_GLREF) != vm->g)
    return NULL;
  /* A thread that is not running: C code resumed it and goes on by itself. */
  cf = CF_RAW(AT(void *, L, L_CFRAME));
  if (cf == NULL) return NULL;
  if (L == vm->dead) {  /* Unless a new thread in its place runs. */
    char *here = __builtin_frame_address(0);
    if (cf < here || cf > here + C_STACK || REF(char *, cf, CF_L) != L)
      return NULL;
    vm->dead = NULL;
  }
  vm->alive = L;
  return (lua_State *)L;
}

/* A collection step in compiled code has set the base itself. */
void mp_vm_refused(mp_vm *vm)
{
  slot *base = mp_vm_jitbase(vm);
  lua_State *L;
  if (base == NULL || mp_vm_state(vm) <= 0) return;
  L = mp_vm_thread(vm);
  if (L != NULL) AT(slot *, L, L_BASE) = base;
}

/* The C library keeps what it knows of a thread above the thread's stack. */
mp_vm_place mp_vm_whereabouts(const mp_vm *vm, const void *context)
{
  const char *L = REF(const char *, vm->g, vm->curl), *cf;
  const char *here = __builtin_frame_address(0);
  const char *self = (const char *)(uintptr_t)pthread_self();
  if (L == NULL || L == vm->dead || ((uintptr_t)L & 7) ||
      obj_gct(L) != GCT_THREAD)
    return MP_VM_IDLE;
  cf = CF_RAW(AT(void *, L, L_CFRAME));
  if (cf == NULL) return MP_VM_IDLE;
  if (context != NULL)
    here = (const char *)(uintptr_t)mp_machine_interrupted(context).sp;
  return cf >= here && (self < here || self > cf) ? MP_VM_HERE :
	 MP_VM_ELSEWHERE;
}

bool mp_vm_iscode(const void *block, size_t size)
{
  if (size < PT_BC) return false;
  if (obj_gct(block) == GCT_PROTO) return AT(uint32_t, block, PT_SIZE) == size;
  return may_be_trace(block, size);
}

#endif
