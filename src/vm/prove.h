/* SPDX-License-Identifier: MIT */
/*
** The proof that this VM has the layout of vm/layout.h.
**
** Public headers do not describe the layout: each part that is used is found on
** the running VM, by its behaviour. Without a proof no part is used, and
** allocation samples wait for the VM's own safepoints (sample/alloc.h).
*/
#ifndef MP_PROVE_H
#define MP_PROVE_H

#include "vm/vm.h"

/* Proves the layout on the VM of L, in a call of the C function `self`, and
** fills in *vm; if it fails vm->why says why. Runs Lua code and allocates.
** Raises Lua errors: out of memory. */
void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self);

/* Whether L runs inside a handler of jit.attach or jit.profile: the proof fails
** there, because the JIT compiler may be at work. vm is the result of the
** proof, successful or not. False: it does not, or that is not known. */
bool mp_vm_inevent(const mp_vm *vm, lua_State *L);

/* The same by means of the API alone, for when the proof failed. Also true if a
** hook or a finalizer runs after jit.attach was called. Calls a hook of its
** own. Raises Lua errors: out of memory. */
bool mp_vm_perhaps_inevent(const mp_vm *vm, lua_State *L);

#endif
