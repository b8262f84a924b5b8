/* SPDX-License-Identifier: MIT */
/*
** The signals that ask LuaJIT's profiler for a safepoint.
**
** LuaJIT's profiler has an interval timer on the CPU time of the process and a
** handler of its signal, which asks the VM for a safepoint. That handler
** changes the VM, whichever thread it runs in. So the interval timer is
** stopped, and the handler is called by ours, on a signal that is sent to the
** thread of the VM alone, after CPU time of that thread (data/timer.h): what
** other threads use does not count. The signal is SIGURG, which does nothing if
** nobody handles it any more, as after an exec. Only the signals of our timer
** count. If the program handles the signal itself, LuaJIT's timer stays, and
** our handler of its signal calls LuaJIT's.
**
** There is one timer in a process, for the VM that has LuaJIT's profiler. It is
** started and stopped under the lock (data/lock.h).
*/
#ifndef MP_TICKS_H
#define MP_TICKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "luajit.h"

/* Called in the handler of our timer's signal, before LuaJIT's: the context is
** the handler's. If it returns a function, that is called with the data last,
** when the timer may be stopped by others. */
typedef void mp_ticks_after(void *data);
typedef mp_ticks_after *mp_ticks_handler(const void *context, void **data);

/* The receiver of the ticks: LuaJIT's profiler was started with these values,
** and runs in that thread. */
typedef struct mp_ticker {
  luaJIT_profile_callback cb;
  const void *data;
  pid_t tid;
  int interval;			/* Milliseconds. */
  mp_ticks_handler *interrupted;
} mp_ticker;

/* LuaJIT's profiler was just started: learns its handler. */
void mp_ticks_learn(void);

/* Starts the timer. *own: whether it is a timer of ours. Returns the name of
** the clock, for the reader of a report. */
const char *mp_ticks_start(const mp_ticker *t, bool *own);

/* The reason why no ticks come: the program */
typedef enum mp_ticks_fault {
  MP_TICKS_WELL,		/* does nothing of that kind; */
  MP_TICKS_BLOCKED,		/* blocks the signal in this thread; */
  MP_TICKS_HANDLED,		/* has set another handler; */
  MP_TICKS_CLOSED		/* has closed the timer's descriptor. */
} mp_ticks_fault;

/* Looks for that in the thread of the VM, whose timer is ours or LuaJIT's. Our
** timer may be stopped. */
mp_ticks_fault mp_ticks_look(bool own);

/* Whether the timer that was started last is a thread of ours. */
bool mp_ticks_watched(void);

/* Ticks that have not been counted yet. */
int mp_ticks_waiting(void);

/* Ends the timer, if it is ours. LuaJIT's ends with its profiler. */
void mp_ticks_stop(void);

/* If nobody has LuaJIT's profiler, stops its timer and removes its handler, in
** case they were left. */
void mp_ticks_clear(void);

/* Tells that the VM runs in another thread. */
void mp_ticks_move(pid_t tid);

/* In the child of a fork: the timer was the parent's. */
void mp_ticks_forget(void);

/* Asks the VM, which runs in that thread, for a safepoint. The timer is one of
** ours. Async-signal-safe. */
void mp_ticks_ask(pid_t tid);

/* The same where the timer is LuaJIT's. */
void mp_ticks_ask_luajit(void);

/* The same without a signal, which would interrupt a system call. Only in the
** thread of the VM. */
void mp_ticks_trigger(void);

/* In LuaJIT's callback, which was given that number of samples: ticks that have
** not been counted yet. */
int mp_ticks_take(int samples);

/* Around the work of the callback. vm: a thread of that VM that stays alive, or
** NULL: the VM has no profile any more. */
void mp_ticks_enter(void);
void mp_ticks_leave(lua_State *vm);

#endif
