/* SPDX-License-Identifier: MIT */
/*
** on_signal(signal, function): the function is called, in the state, whenever
** the signal has come: at the next instruction that the interpreter executes.
** Until then nothing is done, and nothing costs. The signal must be one that
** the program leaves alone. States are called in the threads that asked for it.
**
** In the child of a fork the state goes on to be called.
*/
#ifndef MP_ONSIGNAL_H
#define MP_ONSIGNAL_H

#include "lua.h"

/* A function of jit.mp.core. */
int mp_on_signal(lua_State *L);

#endif
