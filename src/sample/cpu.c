/* SPDX-License-Identifier: MIT */
/*
** See sample/cpu.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/lock.h"
#include "sample/cpu.h"
#include "sample/rehook.h"
#include "sample/ticks.h"
#include "vm/profiler.h"

#include "luajit.h"

static mp_cpu *_Atomic owner;	/* Has LuaJIT's profiler. Written, as the */
static mp_cpu *heirs;		/* list of those that wait, under the lock. */

/* -- Time ---------------------------------------------------------------- */

static pid_t this_thread(void) { return (pid_t)syscall(SYS_gettid); }

/* The clock that goes with the timer; less than 0: the thread has ended. */
static double clock_now(const mp_cpu *c)
{
  return c->by_process ? mp_clock_cpu() : mp_clock_thread(c->tid);
}

double mp_cpu_time(const mp_cpu *c)
{
  double now;
  mp_lock();
  now = clock_now(c);
  now = now >= 0 ? c->before + now - c->begun : c->seen;
  mp_unlock();
  return now;
}

/* Begins to count CPU time by the clock of that thread, or of the process. */
static void begin_clock(mp_cpu *c, pid_t tid, bool by_process)
{
  c->before = mp_cpu_time(c);
  c->tid = tid;
  c->by_process = by_process;
  c->begun = clock_now(c);
}

/* -- The timer ----------------------------------------------------------- */

static void on_safepoint(void *data, lua_State *L, int samples, int state);
static mp_ticks_handler on_interrupt;

static void start_timer(mp_cpu *c)
{
  const mp_ticker t = { on_safepoint, c->vm, c->tid, c->interval,
			  on_interrupt };
  bool own;
  c->clock = mp_ticks_start(&t, &own);
  begin_clock(c, c->tid, !own);
}

void mp_cpu_ask(mp_cpu *c)
{
  if (c->by_process) mp_ticks_ask_luajit();
  else mp_ticks_ask(c->tid);
}

void mp_cpu_trigger(mp_cpu *c)
{
  if (owner == c) mp_ticks_trigger();
}

/* -- LuaJIT's profiler --------------------------------------------------- */

/* Whether the owner still has the profiler: lua_close ends it before finalizers
** run, and others may have taken it. */
static bool runs(const mp_cpu *c)
{
  return !mp_profiler_known() || mp_profiler_runs(on_safepoint, c->vm);
}

bool mp_cpu_has_buffer(const mp_cpu *c)
{
  return owner == c && mp_profiler_known() &&
	 mp_profiler_runs(on_safepoint, c->vm);
}

static bool taken_over(const mp_cpu *c)
{
  return mp_profiler_known() && !mp_profiler_last(on_safepoint, c->vm);
}

static mp_cpu_lack find_lack(const mp_cpu *c)
{
  if (owner != c) return MP_CPU_NOT_KNOWN;
  if (taken_over(c)) return MP_CPU_TAKEN;
  if (c->withheld || (c->tid == this_thread() &&
		      mp_ticks_look(!c->by_process) == MP_TICKS_BLOCKED))
    return MP_CPU_BLOCKED;
  return mp_ticks_waiting() > 0 ? MP_CPU_STUCK : MP_CPU_NOT_KNOWN;
}

static void own(mp_cpu *c)
{
  mp_ticks_learn();
  c->withheld = false;
  start_timer(c);
  c->has_timer = c->had_timer = true;
  owner = c;
}

static void disown(void)
{
  mp_cpu *c = owner;
  if (c == NULL) return;
  mp_ticks_stop();
  mp_rehook_forget();
  c->has_timer = false;
  begin_clock(c, c->tid, false);
  owner = NULL;
}

#define FAR_AWAY 2000000	/* Milliseconds: never, for LuaJIT's timer. */

static struct sigaction old_prof;  /* What SIGPROF did before. */

/* Starts LuaJIT's profiler for a VM that may run in another thread. LuaJIT's
** stop restores the earlier action of SIGPROF. That action must be to ignore
** the signal, lest one that is still on its way kill the process. */
static void start_profiler(mp_cpu *c, lua_State *L, const char *letter)
{
  char mode[32];
  snprintf(mode, sizeof(mode), "%si%d", letter, FAR_AWAY);
  sigaction(SIGPROF, NULL, &old_prof);
  signal(SIGPROF, SIG_IGN);
  luaJIT_profile_start(L, mode, on_safepoint, (void *)c->vm);
  own(c);
}

/* Whether other code runs the interval timer or handles its signal. There is no
** owner. */
static bool taken(void)
{
  struct itimerval tm;
  struct sigaction sa;
  if (mp_profiler_known() && mp_profiler_taken()) return true;
  mp_ticks_clear();
  if (getitimer(ITIMER_PROF, &tm) == 0 &&
      (tm.it_interval.tv_sec != 0 || tm.it_interval.tv_usec != 0 ||
       tm.it_value.tv_sec != 0 || tm.it_value.tv_usec != 0))
    return true;
  return sigaction(SIGPROF, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL &&
	 sa.sa_handler != SIG_IGN;
}

static const char *mode(const mp_cpu *c) { return c->lines ? "l" : "f"; }

/* Sets the mode of a VM that waits. If the owner's VM is just being closed,
** this starts the profiler. */
static void wait_for_profiler(mp_cpu *c, lua_State *L)
{
  c->waited = true;
  luaJIT_profile_start(L, c->lines ? "li2000000" : "fi2000000", on_safepoint,
		       (void *)c->vm);
  if (mp_profiler_known() && mp_profiler_runs(on_safepoint, c->vm)) {
    disown();
    own(c);
  } else {
    c->next = heirs;
    heirs = c;
  }
}

int mp_cpu_start(mp_cpu *c, lua_State *L)
{
  int err = 0;
  c->stopped = false;
  c->vm = lua_topointer(L, LUA_REGISTRYINDEX);
  c->tid = this_thread();
  c->begun = clock_now(c);
  mp_lock();
  if (owner != NULL && !runs(owner)) disown();
  if (owner != NULL) wait_for_profiler(c, L);
  else if (taken()) err = EBUSY;
  else start_profiler(c, L, mode(c));
  mp_unlock();
  mp_cpu_look(c);
  return err;
}

/* Restores the action of SIGPROF. No signal of LuaJIT's timer can be on its
** way. */
static void put_back_prof(void)
{
  struct sigaction sa;
  if (sigaction(SIGPROF, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
    sigaction(SIGPROF, &old_prof, NULL);
}

static void leave_heirs(mp_cpu *c)
{
  mp_cpu **p;
  for (p = &heirs; *p != NULL; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
}

/* The heir's mode is on already; setting it again would flush its
** traces, and its thread may be running them. */
static void hand_over(void)
{
  mp_cpu *c;
  while ((c = heirs) != NULL && c->capture->anchor == NULL) heirs = c->next;
  if (c == NULL || taken()) return;
  heirs = c->next;
  start_profiler(c, c->capture->anchor, "");
}

static void ignore(void *data, lua_State *L, int samples, int state)
{
  (void)data; (void)L; (void)samples; (void)state;
}

/* LuaJIT frees its buffer for dumps of stacks, and leaves the buffer's end
** where it was: a dump by the program would be written to address zero. Only a
** start makes the buffer empty. */
static void stop_profiler(lua_State *L)
{
  bool dumped = !mp_profiler_known() || mp_profiler_dumped();
  luaJIT_profile_stop(L);
  if (!dumped) return;
  luaJIT_profile_start(L, "i2000000", ignore, NULL);
  luaJIT_profile_stop(L);
}

void mp_cpu_stop(mp_cpu *c, lua_State *L)
{
  mp_lock();
  c->lack = find_lack(c);
  c->stopped = true;
  if (owner == c) {
    bool by_process = c->by_process;
    bool ours = runs(c);
    disown();
    if (ours) stop_profiler(L);
    mp_ticks_clear();
    if (!by_process) put_back_prof();
    hand_over();
  } else {
    leave_heirs(c);
  }
  mp_unlock();
}

/* -- Samples ------------------------------------------------------------- */

/* LuaJIT's callback. A VM that had the profiler before may still come here. */
static void on_safepoint(void *data, lua_State *L, int samples, int state)
{
  mp_cpu *c = owner;
  int waiting;
  if (c == NULL || c->vm != data || lua_topointer(L, LUA_REGISTRYINDEX) != data)
    return;
  waiting = mp_ticks_take(samples);
  samples = waiting + c->early;
  c->early = 0;
  mp_ticks_enter();
  mp_cpu_here(c);
  c->at_safepoint(c->data, L, samples, waiting, state);
  mp_ticks_leave(owner == c ? c->capture->anchor : NULL);
}

static void count(mp_cpu *c, uint32_t row, int samples)
{
  c->seen = mp_cpu_time(c);
  c->samples += (uint64_t)samples;
  if (row != 0) c->capture->counts->rows[row].cpu += samples;
  else c->dropped += (uint64_t)samples;
}

/* In our timer's handler: a tick within compiled code is counted at once, not
** at the next safepoint, which may be in another function, or never come. */
static mp_ticks_after *on_interrupt(const void *context, void **data)
{
  mp_cpu *c = owner;
  bool calm = false;
  uint32_t row;
  int n;
  if (c == NULL || !mp_lock_try()) return NULL;
  row = mp_capture_interrupted(c->capture, context, &calm);
  if (row != 0 && (n = mp_ticks_take(0)) > 0) {
    count(c, row, n);
    c->early += n;
  }
  mp_unlock();
  *data = c->data;
  return calm ? c->in_code : NULL;
}

void mp_cpu_count_missed(mp_cpu *c, uint32_t row)
{
  int n;
  c->capture->missed = false;
  if (row == 0 || owner != c) return;
  mp_capture_enter(c->capture);
  if ((n = mp_ticks_take(0)) > 0) {
    count(c, row, n);
    c->early += n;
  }
  mp_capture_leave(c->capture);
}

void mp_cpu_count(mp_cpu *c, lua_State *L, int samples, int state)
{
  if (samples > 0) count(c, mp_capture_row(c->capture, L, state), samples);
}

void mp_cpu_count_own(mp_cpu *c, const char *name)
{
  int samples = mp_ticks_take(0);
  if (samples > 0) count(c, mp_capture_named(c->capture, name, 'I'), samples);
}

void mp_cpu_here(mp_cpu *c)
{
  pid_t tid = this_thread();
  if (tid == c->tid) return;  /* Only this thread changes it. */
  mp_lock();
  begin_clock(c, tid, c->by_process);
  if (owner == c && c->by_process) {
    mp_ticks_move(tid);
  } else if (owner == c) {
    mp_ticks_stop();
    start_timer(c);
  }
  mp_unlock();
}

void mp_cpu_forked(void) { mp_ticks_forget(); }

/* A thread of ours begins when the VM goes on: a child may be about to do what
** a process with several threads may not do. */
static void start_in_child(mp_cpu *c)
{
  c->withheld = mp_ticks_watched();
  if (!c->withheld) start_timer(c);
}

void mp_cpu_restart(mp_cpu *c)
{
  c->samples = c->dropped = 0;
  c->blocked = c->handled = false;
  c->before = c->seen = 0;
  c->tid = this_thread();
  c->begun = clock_now(c);
  if (c->has_timer) {
    c->waited = false;
    start_in_child(c);
  }
}

void mp_cpu_continue(mp_cpu *c)
{
  c->before = c->seen;
  c->tid = this_thread();
  c->begun = clock_now(c);
  if (c->has_timer) start_in_child(c);
}

/* -- The absence of ticks ------------------------------------------------- */

/* No tick is sent that would wait for the program to unblock the signal: it
** might look for signals that wait. */
static void withhold(mp_cpu *c)
{
  c->blocked = true;
  if (c->withheld || c->by_process) return;
  mp_ticks_stop();
  c->withheld = true;
}

static void mend(mp_cpu *c)
{
  bool own = !c->by_process;
  mp_ticks_fault fault = mp_ticks_look(own);
  if (fault == MP_TICKS_BLOCKED) {
    withhold(c);
  } else if (fault != MP_TICKS_WELL || c->withheld) {
    c->withheld = false;
    mp_ticks_stop();
    start_timer(c);
    if (fault == MP_TICKS_HANDLED) c->handled = c->by_process;
  }
}

void mp_cpu_look(mp_cpu *c)
{
  if (owner != c) return;
  mp_lock();
  if (owner == c && runs(c)) mend(c);
  mp_unlock();
}

#define GAP_MIN	0.25		/* Seconds of CPU time without a sample, */
#define GAP_TICKS 25		/* or intervals: then the timer was lost. */

bool mp_cpu_lost(const mp_cpu *c, double now)
{
  double since = c->samples > 0 ? c->seen : 0;
  return c->had_timer && now - since > GAP_MIN &&
	 now - since > c->interval * 0.001 * GAP_TICKS;
}

mp_cpu_lack mp_cpu_why(const mp_cpu *c)
{
  mp_cpu_lack why;
  if (c->stopped) return c->lack;
  mp_lock();
  why = find_lack(c);
  mp_unlock();
  return why;
}
