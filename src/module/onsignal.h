/* SPDX-License-Identifier: MIT */
/*
** on_signal(signal, function): after each arrival of the signal the function is
** called, in the state, at the next instruction that the interpreter executes.
** Waiting costs nothing. The signal must be one that the program does not use.
** A state is called in the thread that called on_signal.
**
** The function is called in the child of a fork, too.
*/
#ifndef MP_ONSIGNAL_H
#define MP_ONSIGNAL_H

#include "lua.h"

/* A function of jit.mp.core. */
int mp_on_signal(lua_State *L);

#endif
