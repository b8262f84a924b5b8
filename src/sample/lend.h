/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's profiler for several VMs in several threads.
**
** LuaJIT's profiler belongs to one VM at a time, and that VM's end takes it
** away at a moment that nobody else knows. So, where several are profiled, it
** belongs to a VM of our own, which never runs, the keeper. The handler of a
** tick lends it to the VM of its thread for as long as LuaJIT's handler works:
** that handler and the callback need no more than that.
**
** All but mp_lend_trigger is called under the lock (data/lock.h).
*/
#ifndef MP_LEND_H
#define MP_LEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "luajit.h"

/* The data that LuaJIT's profiler was started with for the keeper. */
extern const char mp_lend_data;

/* Gives the profiler, which this VM has, to the keeper. g: the VM, as LuaJIT
** refers to it. False: all is as before, as there is no memory, the VM has lost
** it, or there is a dump of a stack that belongs to the VM. */
bool mp_lend_begin(luaJIT_profile_callback cb, const void *data, void *g);

/* Whether there is a keeper. */
bool mp_lend_begun(void);

/* Calls LuaJIT's handler for that VM, which runs in this thread. False: not
** now. Async-signal-safe. */
bool mp_lend_trigger(void *g, void (*trigger)(void));

/* Waits until that many handlers of other threads have ended: none. */
void mp_lend_await(const atomic_int *handlers);

/* Around a stop of the profiler by that VM: gives it back to the VM, and starts
** it again for the keeper. Meanwhile mp_lend_trigger refuses. */
void mp_lend_suspend(void *g);
void mp_lend_resume(luaJIT_profile_callback cb);

/* If that VM has the profiler, gives it to the keeper. */
void mp_lend_take(void *g);

/* If the profiler was lost, starts it again. */
void mp_lend_look(luaJIT_profile_callback cb);

/* Ends it, after mp_lend_suspend: there is no keeper any more. */
void mp_lend_end(void);

/* In the child of a fork. */
void mp_lend_forked(void);

#endif
