/* SPDX-License-Identifier: MIT */
/*
** SIGPROF and its interval timer, of which LuaJIT's profiler takes both when it
** starts, and restores the earlier action of the signal when it stops.
**
** The timer of the ticks is another one (sample/ticks.h), whose handler calls
** LuaJIT's. So a program that handles SIGPROF, for a profiler of its own or, as
** Go's runtime does, in any case, has the signal and the timer back while ours
** goes on. That no signal of LuaJIT's timer, still on its way, kills the
** process, SIGPROF is ignored while LuaJIT starts and stops, and LuaJIT's
** profiler starts with an interval that never ends.
**
** All but mp_sigprof_trigger is called under the lock (data/lock.h).
*/
#ifndef MP_SIGPROF_H
#define MP_SIGPROF_H

#include <signal.h>
#include <stdbool.h>

#define MP_SIGPROF_NEVER "i2000000"  /* LuaJIT's interval: milliseconds, */
#define MP_SIGPROF_SECONDS 2000	/* and the same in seconds. */

bool mp_sigprof_has_handler(const struct sigaction *sa);

/* Before LuaJIT's profiler starts for the first VM: notes what the signal does
** in the program. */
void mp_sigprof_take(void);

/* LuaJIT's profiler was just started: learns its handler. */
void mp_sigprof_learn(void);

/* After that: whether the program has a handler, and gives it back. */
bool mp_sigprof_used(void);
void mp_sigprof_lend(void);

/* Before and after LuaJIT's profiler stops: notes what the program has set
** meanwhile, and restores the timer. */
void mp_sigprof_hold(void);
void mp_sigprof_release(void);

/* After the last VM's: the signal does what it did. */
void mp_sigprof_put_back(void);

/* Whether LuaJIT's handler is known, and whether it is that. */
bool mp_sigprof_known(void);
bool mp_sigprof_is_luajits(const struct sigaction *sa);

/* Calls LuaJIT's handler. Async-signal-safe. */
void mp_sigprof_trigger(void);

/* The interval timer: sets it to an interval of ours; stops it, unless it is
** another profiler's; and whether it is set to one of ours. */
void mp_sigprof_set_timer(int ms);
void mp_sigprof_stop_timer(void);
bool mp_sigprof_armed(void);

#endif
