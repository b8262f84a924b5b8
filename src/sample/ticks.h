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
** count. If the program handles the signal already, its handler is called for
** the others. If it sets one meanwhile, LuaJIT's timer stays, and the handler
** of its signal, ours, calls LuaJIT's.
**
** Each VM in a thread of its own has its timer, where LuaJIT's profiler can be
** lent (sample/lend.h). Timers are started and stopped under the lock
** (data/lock.h).
*/
#ifndef MP_TICKS_H
#define MP_TICKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "data/pace.h"
#include "lua.h"
#include "luajit.h"
#include "vm/vm.h"

/* Called in the handler of our timer's signal, before LuaJIT's: after these
** ticks, which wait to be counted; the context is the handler's. If it
** returns a function, that is called with the data last,
** when the timer may be stopped by others. */
typedef void mp_ticks_after(void *data);
typedef mp_ticks_after *mp_ticks_handler(void *user, mp_tally ticks,
					 const void *context, void **data);

/* The ticks of one VM. Never freed. */
typedef struct mp_ticks mp_ticks;

/* The receiver of the ticks. */
typedef struct mp_ticker {
  luaJIT_profile_callback cb;	/* LuaJIT's profiler was started with these. */
  const void *data;
  void *g;			/* It is lent to this VM; NULL: no. */
  const void *vm;		/* The VM's registry. */
  const mp_vm *layout;		/* The VM's layout. */
  pid_t tid;			/* The VM's thread. */
  int interval;			/* Milliseconds, at first if it adapts. */
  mp_pace *pace;		/* Adapts the interval; NULL: it is fixed. */
  mp_ticks_handler *interrupted;
  void *user;			/* Its argument. */
} mp_ticker;

/* Starts the timer. NULL: there is none to be had. */
mp_ticks *mp_ticks_start(const mp_ticker *of);

/* Whether the timer is ours, not LuaJIT's; whether a thread of ours watches the
** clock; and the clock's name, for the reader of a report. */
bool mp_ticks_own(const mp_ticks *t);
bool mp_ticks_watched(const mp_ticks *t);
const char *mp_ticks_clock(const mp_ticks *t);

/* The reason why no ticks come: the program */
typedef enum mp_ticks_fault {
  MP_TICKS_WELL,		/* does nothing of that kind; */
  MP_TICKS_BLOCKED,		/* blocks the signal in this thread; */
  MP_TICKS_HANDLED,		/* has set another handler; */
  MP_TICKS_CLOSED		/* has closed the timer's descriptor. */
} mp_ticks_fault;

/* Looks for that in the thread of the VM, whose timer is ours or LuaJIT's. t
** may be NULL: our timer is stopped. */
mp_ticks_fault mp_ticks_look(const mp_ticks *t, bool own);

/* Ticks that have not been counted yet. */
int mp_ticks_waiting(const mp_ticks *t);

/* After this call no handler uses it: a handler that was under way, in the
** thread that had the timer, has ended. Handlers wait for nothing. The timer
** goes on. */
void mp_ticks_hide(mp_ticks *t);

/* Ends the timer, if it is ours. LuaJIT's ends with its profiler. From now on
** another VM may have t. */
void mp_ticks_stop(mp_ticks *t);

/* In this thread, which blocks the signal for a while: counts a tick that
** waits, and whose signal then never arrives. */
void mp_ticks_receive(mp_ticks *t);

/* If nobody has LuaJIT's profiler, stops its timer and removes its handler, in
** case they were left. */
void mp_ticks_clear(void);

/* Tells that the VM runs in another thread. */
void mp_ticks_move(mp_ticks *t, pid_t tid);

/* Gives the timer, which goes on, to another VM of its thread. */
void mp_ticks_give(mp_ticks *t, const mp_ticker *of);

/* LuaJIT's profiler, which was the VM's, is lent from now on. */
void mp_ticks_lend(mp_ticks *t, const void *data, void *g);

/* In the child of a fork: ends the timer, which was the parent's. */
void mp_ticks_forget(mp_ticks *t);

/* The user of a timer of that thread; 0: of any thread. NULL: there is none. */
void *mp_ticks_user(pid_t tid);

/* The ticks of a VM, in its thread; or NULL. */
mp_ticks *mp_ticks_of(const void *vm);

/* The user of these. */
void *mp_ticks_receiver(const mp_ticks *t);

/* Asks the VM, which runs in that thread, for a safepoint. The timer is one of
** ours. Async-signal-safe. */
void mp_ticks_ask(pid_t tid);

/* The same where the timer is LuaJIT's. */
void mp_ticks_ask_luajit(mp_ticks *t);

/* The same without a signal, which would interrupt a system call. Only in the
** thread of the VM. */
void mp_ticks_trigger(mp_ticks *t);

/* Asks the VMs again that could not be asked while LuaJIT's profiler was not to
** be lent. */
void mp_ticks_ask_again(void);

/* In LuaJIT's callback, which was given that number of samples: ticks that have
** not been counted yet. */
mp_tally mp_ticks_take(mp_ticks *t, int samples);

/* In our handler: these do not wait any more. */
void mp_ticks_take_some(mp_ticks *t, mp_tally n);

/* Around the work of the callback. vm: a thread of that VM that stays alive, or
** NULL: the VM has no profile any more. */
void mp_ticks_enter(mp_ticks *t);
void mp_ticks_leave(mp_ticks *t, lua_State *vm);

#endif
