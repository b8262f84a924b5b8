/* SPDX-License-Identifier: MIT */
/*
** The CPU sampler: LuaJIT's own profiler (luaJIT_profile_start), driven by a
** better timer (sample/ticks.h).
**
** There is one such profiler in a process, which is lent to the VM of each
** thread (sample/lend.h). VMs that run in one thread take turns. Where it
** cannot be lent, a second VM that is profiled gets its heap samples all the
** same, and the profiler once the first VM leaves it.
**
** With its mode "l" compiled code has a safepoint at each line, with mode "f"
** where the function changes, which costs next to nothing.
*/
#ifndef MP_CPU_H
#define MP_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample/capture.h"
#include "sample/ticks.h"

#include "lua.h"

/* Called where L may be used: after `samples` ticks, of which `waiting` have
** not been counted, in that VM state. */
typedef void mp_cpu_callback(void *data, lua_State *L, int samples,
			     mp_tally waiting, int state);

/* Called in a signal handler that has interrupted compiled code, and no C
** function: all may be done that may be done inside the allocator. */
typedef void mp_cpu_incode(void *data);

/* The reason why samples do not come. */
typedef enum mp_cpu_lack {
  MP_CPU_NOT_KNOWN,
  MP_CPU_TAKEN,			/* Another profiler took the timer. */
  MP_CPU_BLOCKED,		/* The program blocks the timer's signal. */
  MP_CPU_STUCK			/* C code has not returned to Lua. */
} mp_cpu_lack;

/* Ticks that have interrupted C functions since the last safepoint. */
#define MP_CPU_PLACES	4
typedef struct mp_cpu_ticks {
  mp_callee called;		/* The functions. */
  int state;			/* The VM's state, one of "CGI". */
  mp_tally n;			/* The ticks. */
} mp_cpu_ticks;

/* The thread that hands the profiler over also writes to a cpu: fields that the
** two threads share are atomic, or written and read under the lock. */
typedef struct mp_cpu {
  mp_capture *capture;		/* The profile's. */
  mp_cpu_callback *at_safepoint;
  mp_cpu_incode *in_code;
  void *data;			/* Their argument. */
  int interval;			/* Milliseconds asked of the timer; 0: they */
  mp_pace pace;			/* adapt to the run. */
  bool lines;			/* Mode "l", not "f". */
  const void *vm;		/* Identifies the VM: its registry. */
  _Atomic pid_t tid;		/* Thread where the VM runs. */
  atomic_bool has_timer;	/* LuaJIT's profiler is ours. */
  atomic_bool had_timer;	/* LuaJIT's profiler is or was ours. */
  bool waited;			/* Another VM that we profile had it. */
  atomic_bool lent;		/* LuaJIT's is lent to it. */
  double turn;			/* CPU time when it got it. */
  mp_ticks *_Atomic ticks;	/* Of its timer; NULL: it has none. */
  atomic_int letter;		/* The VM's state at the first tick since the
				** last safepoint; 0: LuaJIT tells it. */
  bool by_process;		/* LuaJIT's timer had to stay. */
  bool withheld;		/* Our timer is stopped, because */
  bool blocked;			/* the program has blocked the signal. */
  bool handled;			/* It has set a handler of its own. */
  bool stopped;			/* The profile has ended. */
  bool idle;			/* It ended while it waited for its turn. */
  mp_cpu_lack lack;		/* What kept samples away until the end. */
  const char *_Atomic clock;	/* Name of the clock: static string, or NULL. */
  mp_cpu_ticks places[MP_CPU_PLACES];
  atomic_int nplaces;		/* Those in use. */
  uint64_t samples;		/* Ticks counted. */
  atomic_int early;		/* Ticks counted since the last safepoint. */
  uint64_t dropped;		/* Of these, lost for want of memory. */
  uint32_t *in_trace;		/* Weights by the trace that ran; or NULL. */
  atomic_uint compiling;	/* Weights in the JIT compiler, and of these */
  atomic_uint protecting;	/* in mprotect, in the kernel. */
  double before;		/* CPU time in threads that it ran in before. */
  double begun;			/* Clock of this thread when it began to */
				/* count. */
  double seen;			/* CPU time at the last sample: seconds. */
  struct mp_cpu *next;		/* The next one that would take over. */
} mp_cpu;

/* Starts sampling; the caller has set capture, at_safepoint, in_code, data,
** interval, lines. L runs. Returns 0, or EBUSY: another profiler has the timer,
** and nothing was started. Then and before a start all but mp_cpu_ask may be
** called all the same. Where another VM that we profile has it, has_timer
** stays false for now, and waited becomes true for good. */
int mp_cpu_start(mp_cpu *c, lua_State *L);

/* At the end of a profile's start, whose own work is not the program's: forgets
** the ticks so far, none of which has a row yet, and begins to count CPU time
** again. In the thread of the VM. */
void mp_cpu_forget(mp_cpu *c);

/* Ends sampling, and hands the profiler over to a VM that waits. L runs. */
void mp_cpu_stop(mp_cpu *c, lua_State *L);

/* The VM has freed what we need of it, or is being closed: no tick looks at it
** from now on. In its thread, inside the allocator. */
void mp_cpu_lose(mp_cpu *c);

/* Counts samples for the row of L, which is at a safepoint. */
void mp_cpu_count(mp_cpu *c, lua_State *L, mp_tally samples, int state);

/* Counts for a row the ticks that came while its stack was captured. On the
** VM's thread, inside the allocator. */
void mp_cpu_count_missed(mp_cpu *c, uint32_t row);

/* Counts the ticks since the last samples for a row of that name, a static
** string: in LuaJIT's callback, for the profiler's own work there. */
void mp_cpu_count_own(mp_cpu *c, const char *name);

/* Tells that the VM runs in this thread, which may differ from the last one. */
void mp_cpu_here(mp_cpu *c);

/* Whether LuaJIT's profiler is known to be ours at the moment, and with it the
** one buffer for dumps of stacks, which the VM has allocated (sample/capture).
** In the thread of the VM. */
bool mp_cpu_has_buffer(const mp_cpu *c);

/* Asks the VM for a safepoint. Async-signal-safe. */
void mp_cpu_ask(mp_cpu *c);

/* The same without a signal, which would interrupt a system call: does nothing
** where the profiler is not ours. In the thread of the VM alone. */
void mp_cpu_trigger(mp_cpu *c);

/* In the child of a fork: the timer was the parent's. */
void mp_cpu_forked(void);

/* After mp_cpu_forked, in the thread of the VM: begins again from zero, with
** the profiler if the parent had it. */
void mp_cpu_restart(mp_cpu *c);

/* The same, but continues with the parent's counts. */
void mp_cpu_continue(mp_cpu *c);

/* Seconds of CPU time since the start: that of the threads the VM ran in. */
double mp_cpu_time(const mp_cpu *c);

/* Milliseconds between two ticks; if that adapts, at the end so far. */
int mp_cpu_interval(const mp_cpu *c);

/* Looks whether the program keeps the ticks from coming, and mends what can be
** mended. In the thread of the VM. */
void mp_cpu_look(mp_cpu *c);

/* The signals of this thread are held for a call that the program does not
** know of, or no longer: then they are not blocked by the program. At the end
** none of ours waits: it would interrupt what the program was in, as poll. */
void mp_cpu_hold(bool on);

/* The program is about to look for signals that it blocks in this thread: none
** of ours waits there, or will. It may be in a signal handler. */
void mp_cpu_withhold(void);

/* Whether samples have ceased to come: now is mp_cpu_time. */
bool mp_cpu_lost(const mp_cpu *c, double now);

/* The reason for that, or why there are none. */
mp_cpu_lack mp_cpu_why(const mp_cpu *c);

#endif
