/* SPDX-License-Identifier: MIT */
/*
** Ticks for LuaJIT's profiler that come from a timer of ours.
**
** The handler of the timer's signal runs in the thread of the VM, counts the
** tick and calls LuaJIT's own handler, which asks the VM for a safepoint.
** Where no such timer can be had LuaJIT's interval timer goes on ticking, for
** the whole process, and LuaJIT counts.
**
** There is one in a process, as LuaJIT's profiler. All but the functions that
** are async-signal-safe are called under the lock (data/lock.h), or where there
** is one thread only.
*/
#ifndef MP_TICKS_H
#define MP_TICKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "luajit.h"

/* Starts ticks after each `ms` milliseconds of CPU time of the thread, in the
** mean. LuaJIT's profiler was just started with that callback and data. False:
** LuaJIT's timer has to stay. */
bool mp_ticks_start(luaJIT_profile_callback callback, const void *data,
		    pid_t tid, int ms);

/* Ends them. Does nothing where no timer of ours runs. */
void mp_ticks_stop(void);

/* In the child of a fork: the timer was the parent's. */
void mp_ticks_forked(void);

/* Whether a timer of ours runs. */
bool mp_ticks_own(void);

/* The name of the clock that ticks: a static string. */
const char *mp_ticks_clock(void);

/* Sets LuaJIT's interval timer, in milliseconds; 0 stops it. */
void mp_ticks_interval(int ms);

/* Asks the VM of the thread for a safepoint, by a signal that is no tick: with
** our timer; with LuaJIT's. Async-signal-safe. */
void mp_ticks_ask_thread(pid_t tid);
void mp_ticks_ask_luajit(void);

/* The ticks since the last call: of our timer; of LuaJIT's, which has counted
** so many signals. In LuaJIT's callback, without the lock. */
int mp_ticks_take(void);
int mp_ticks_take_luajit(int samples);

/* LuaJIT's callback begins, and ends. Without the lock. */
void mp_ticks_enter(void);
void mp_ticks_leave(void);

#endif
