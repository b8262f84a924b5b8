/* SPDX-License-Identifier: MIT */
/*
** The proof that this VM has the layout of vm/layout.h.
**
** Public headers say nothing about it: what is used is found on the running
** VM, by how it behaves. What cannot be proved is not used: allocation samples
** then wait for the VM's own safepoints (sample/heap.c).
*/
#ifndef MP_PROVE_H
#define MP_PROVE_H

#include "vm/vm.h"

/* Proves the layout on the VM of L, in a call of the C function `self`, and
** fills in *vm; if it fails vm->why says why. Runs Lua code and allocates.
** Raises Lua errors: out of memory. */
void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self);

/* Whether L runs inside a handler of jit.attach or jit.profile: the JIT compiler
** may be at work, and the proof fails for that. vm is the result of the proof,
** successful or not. False: it does not, or that is not known. */
bool mp_vm_inevent(const mp_vm *vm, lua_State *L);

#endif
