/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's table of instruction handlers, in which its profiler asks for the
** next safepoint.
*/
#ifndef MP_DISPATCH_H
#define MP_DISPATCH_H

#include "vm/vm.h"

/* Learns, from a state of our own whose layout is proved, where a VM keeps its
** hook mask and the mode of that table. */
void mp_dispatch_learn(const mp_vm *vm, lua_State *L);

/* In a signal's handler, in the thread that runs the VM, before LuaJIT's
** handler: if that asked for a safepoint before, it will ask again. Its signal
** may have come while the VM was writing the table: then the request is noted,
** and the table says otherwise, for good. */
void mp_dispatch_renew(const mp_vm *vm);

/* In a signal's handler: asks a VM that does not run for a safepoint, as
** LuaJIT's handler does. False: it is not known how. */
bool mp_dispatch_ask(const mp_vm *vm);

/* In LuaJIT's callback: makes what runs there look like a finalizer instead, or
** again like a callback. The compiler does not see what a callback does, but
** ends a recording that was aborted at a finalizer's next instruction. It
** begins none, and LuaJIT's handler asks for no safepoint. False: nothing was
** changed. */
bool mp_dispatch_flip(const mp_vm *vm);

/* In a signal's handler: whether LuaJIT's handler is going to ask for a
** safepoint. False: it will not, or that is not known. */
bool mp_dispatch_listens(const mp_vm *vm);

/* Whether the JIT compiler is off. False: it is on, or that is not known. */
bool mp_dispatch_jitoff(const mp_vm *vm);

/* Whether a handler of jit.attach or jit.profile runs. False: none does, or
** that is not known. */
bool mp_dispatch_inevent(const mp_vm *vm);

#endif
