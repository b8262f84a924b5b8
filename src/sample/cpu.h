/*
** The CPU sampler: the VM's own profiling timer (luaJIT_profile_start).
**
** The timer counts CPU time of the process. Its signal asks the VM for a
** safepoint, where LuaJIT calls the function that was given at the start. The
** line mode ("l") is always on: with it, compiled code has a safepoint at
** each line.
**
** There is one such timer in a process. A second VM that is profiled gets its
** heap samples all the same, and the timer once the first VM leaves it.
*/
#ifndef MP_CPU_H
#define MP_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/capture.h"

#include "lua.h"
#include "luajit.h"

typedef struct mp_cpu {
  mp_capture *capture;		/* The profile's. */
  luaJIT_profile_callback at_safepoint;  /* Called where L may be used, */
  void *data;			/* with this. */
  int interval;			/* Milliseconds asked of the timer. */
  bool has_timer;		/* The profiling timer is ours, */
  bool had_timer;		/* or was. */
  bool waited;			/* Another VM that we profile had it. */
  int asked;			/* Signals that were no tick of the timer. */
  uint64_t samples;		/* Ticks counted. */
  uint64_t dropped;		/* Of these, lost for want of memory. */
  double begun;			/* CPU time of the process at the start, */
  double seen;			/* and at the last sample, in seconds. */
  struct mp_cpu *next;		/* The next one that would take the timer. */
} mp_cpu;

/* Starts sampling; the caller has set capture, at_safepoint, data, interval.
** L runs. 0, or an errno value: EBUSY if another profiler has the timer. Where
** another VM that we profile has it, has_timer stays false for now; waited says
** so for good. */
int mp_cpu_start(mp_cpu *c, lua_State *L);

/* Ends it, and hands the timer over. L runs. */
void mp_cpu_stop(mp_cpu *c, lua_State *L);

/* Counts that many signals for what L is doing: called at a safepoint. */
void mp_cpu_count(mp_cpu *c, lua_State *L, int signals, int state);

/* Asks the VM for a safepoint. Async-signal-safe. */
void mp_cpu_ask(mp_cpu *c);

/* In the child of a fork: begins anew, with the timer if the parent had it. */
void mp_cpu_restart(mp_cpu *c);

/* Whether the timer was lost to somebody else: now is the CPU time. */
bool mp_cpu_lost(const mp_cpu *c, double now);

#endif
