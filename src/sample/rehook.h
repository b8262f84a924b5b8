/* SPDX-License-Identifier: MIT */
/*
** A hook that is set while a safepoint is under way.
**
** LuaJIT's profiler clears the mask of the hooks before it calls back, and
** restores it afterwards. A hook that a signal handler sets in between, as the
** luajit command does for SIGINT, would be lost: the program would not be
** interrupted. Such a hook is noted at the end of the safepoint and set again
** by the next signal of the timer.
*/
#ifndef MP_REHOOK_H
#define MP_REHOOK_H

#include "lua.h"

typedef struct mp_rehook {
  lua_State *volatile vm;	/* NULL: no hook is noted. */
  lua_Hook hook;
  int mask, count;
} mp_rehook;

/* Notes a hook that is set now: the last call in LuaJIT's callback. vm: a
** thread of that VM which lives on. */
void mp_rehook_note(mp_rehook *r, lua_State *vm);

/* Sets the hook again: to be called by the handler of the timer's signal in the
** thread of the VM, not within the callback. Async-signal-safe. */
void mp_rehook_set(mp_rehook *r);

/* Forgets the hook: the VM has no profile any more. */
void mp_rehook_forget(mp_rehook *r);

#endif
