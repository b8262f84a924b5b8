/* SPDX-License-Identifier: MIT */
/*
** See sample/cpu.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "sample/cpu.h"
#include "sample/lend.h"
#include "sample/sigprof.h"
#include "sample/ticks.h"
#include "vm/machine.h"
#include "vm/profiler.h"

#include "luajit.h"

/* All of this is written under the lock. */
static mp_cpu *_Atomic owner;	/* Has LuaJIT's profiler; NULL: it is lent. */
static mp_cpu *heirs;		/* Those that wait. */
static int borrowers;		/* Those that it is lent to, or may be. */

/* -- Time ---------------------------------------------------------------- */

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

int mp_cpu_interval(const mp_cpu *c)
{
  return c->interval != 0 ? c->interval : mp_pace_interval(&c->pace);
}

static mp_ticker ticker(mp_cpu *c)
{
  bool lent = c->lent;
  return (mp_ticker){
    on_safepoint, lent ? &mp_lend_data : c->vm,
    lent ? c->capture->vm->g : NULL, c->vm, c->capture->vm, c->tid,
    mp_cpu_interval(c), c->interval == 0 ? &c->pace : NULL, on_interrupt, c
  };
}

static void has_ticks(mp_cpu *c, mp_ticks *t)
{
  c->ticks = t;
  c->nplaces = 0;
  if (t != NULL) {
    c->clock = mp_ticks_clock(t);
    c->had_timer = true;
  }
  c->has_timer = t != NULL || c->withheld;
  begin_clock(c, c->tid, t != NULL && !mp_ticks_own(t));
}

static void start_timer(mp_cpu *c)
{
  const mp_ticker t = ticker(c);
  c->withheld = false;
  has_ticks(c, mp_ticks_start(&t));
}

static void stop_timer(mp_cpu *c)
{
  if (c->ticks != NULL) mp_ticks_stop(c->ticks);
  has_ticks(c, NULL);
}

void mp_cpu_ask(mp_cpu *c)
{
  mp_ticks *t = c->ticks;
  if (t != NULL && c->by_process) mp_ticks_ask_luajit(t);
  else mp_ticks_ask(c->tid);
}

void mp_cpu_trigger(mp_cpu *c)
{
  mp_ticks *t = c->ticks;
  if (t != NULL) mp_ticks_trigger(t);
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
  return mp_profiler_known() &&
	 !mp_profiler_last(on_safepoint, c->lent ? &mp_lend_data : c->vm);
}

/* The thread whose signals are held for a call, not by the program; 0: none. */
static pid_t held;

void mp_cpu_hold(bool on)
{
  mp_cpu *c;
  held = on ? mp_process_thread() : 0;
  if (on) return;
  mp_lock();
  c = mp_ticks_user(mp_process_thread());
  if (c != NULL && c->ticks != NULL) mp_ticks_receive(c->ticks);
  mp_unlock();
}

static bool is_held(void)
{
  return held != 0 && held == mp_process_thread();
}

/* Whether the program keeps the ticks of this thread away. */
static bool blocks(const mp_cpu *c)
{
  if (is_held()) return c->blocked && c->withheld;
  return c->withheld || (c->tid == mp_process_thread() &&
	 mp_ticks_look(c->ticks, !c->by_process) == MP_TICKS_BLOCKED);
}

static mp_cpu_lack find_lack(const mp_cpu *c)
{
  mp_ticks *t = c->ticks;
  if (owner != c && !c->lent) return MP_CPU_NOT_KNOWN;
  if (taken_over(c)) return MP_CPU_TAKEN;
  if (blocks(c)) return MP_CPU_BLOCKED;
  return t != NULL && (mp_ticks_waiting(t) > 0 || c->nplaces > 0) ?
	 MP_CPU_STUCK : MP_CPU_NOT_KNOWN;
}

static void own(mp_cpu *c)
{
  mp_sigprof_learn();
  owner = c;
  start_timer(c);
}

static void disown(void)
{
  mp_cpu *c = owner;
  if (c == NULL) return;
  c->withheld = false;
  stop_timer(c);
  owner = NULL;
}

/* Starts LuaJIT's profiler for a VM that may run in another thread. Returns 0,
** or EBUSY: the program handles the signal of the timer that is needed. */
static int start_profiler(mp_cpu *c, lua_State *L, const char *how)
{
  mp_sigprof_take();
  luaJIT_profile_start(L, how, on_safepoint, (void *)c->vm);
  own(c);
  if (mp_sigprof_used() && (c->ticks == NULL || c->by_process)) {
    disown();
    luaJIT_profile_stop(L);
    mp_sigprof_put_back();
    return EBUSY;
  }
  mp_sigprof_lend();
  return 0;
}

/* Whether other code has LuaJIT's profiler or runs the interval timer. There is
** no owner. */
static bool taken(void)
{
  struct itimerval tm;
  if (mp_profiler_known() && mp_profiler_taken()) return true;
  mp_ticks_clear();
  return getitimer(ITIMER_PROF, &tm) == 0 &&
	 (tm.it_interval.tv_sec != 0 || tm.it_interval.tv_usec != 0 ||
	  tm.it_value.tv_sec != 0 || tm.it_value.tv_usec != 0);
}

/* Whether the VM may be closing unseen: it is not looked at again. */
static bool is_lost(const mp_cpu *c) { return c->capture->anchor == NULL; }

static const char *mode(const mp_cpu *c)
{
  return c->lines ? "l"MP_SIGPROF_NEVER : "f"MP_SIGPROF_NEVER;
}

/* -- Turns ---------------------------------------------------------------- */

/* Those that have waited longest are first. */
static void wait(mp_cpu *c)
{
  mp_cpu **p = &heirs;
  while (*p != NULL) p = &(*p)->next;
  c->waited = true;
  c->next = NULL;
  *p = c;
}

/* Whether another VM of its thread has the timer. */
static bool waits(const mp_cpu *c) { return c->lent && !c->has_timer; }

static void leave_heirs(mp_cpu *c)
{
  mp_cpu **p;
  for (p = &heirs; *p != NULL; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
}

static void lend_to(mp_cpu *c)
{
  c->lent = true;
  borrowers++;
}

/* Has LuaJIT's profiler lent from now on. False: it is not to be lent. */
static bool lend(void)
{
  mp_cpu *c = owner;
  void *g;
  if (c == NULL) return mp_lend_begun();
  g = c->capture->vm->g;
  if (!c->capture->vm->proved || c->by_process || c->ticks == NULL)
    return false;
  mp_ticks_lend(c->ticks, &mp_lend_data, g);
  if (!mp_lend_begin(on_safepoint, c->vm, g)) {
    mp_ticks_lend(c->ticks, c->vm, NULL);
    return false;
  }
  lend_to(c);
  owner = NULL;
  return true;
}

/* Gets the timer of the thread, which no other VM has. */
static void join(mp_cpu *c)
{
  leave_heirs(c);
  start_timer(c);
  c->turn = c->seen = mp_cpu_time(c);
}

#define TURN	0.1		/* Seconds of CPU time. */

/* Two VMs that run in this thread may both be under way, as one may call C code
** that calls the other. */
static void take_turn(mp_cpu *c)
{
  mp_cpu *other = mp_ticks_user(c->tid);
  const mp_ticker t = ticker(c);
  if (other == NULL) {
    join(c);
    return;
  }
  if (!mp_vm_hosted(other->capture->vm) &&
      mp_cpu_time(other) - other->turn < TURN)
    return;
  if (other->interval != c->interval) {
    stop_timer(other);
    join(c);
  } else {
    mp_ticks *ticks = other->ticks;
    mp_ticks_give(ticks, &t);
    has_ticks(other, NULL);
    leave_heirs(c);
    has_ticks(c, ticks);
    c->turn = c->seen = mp_cpu_time(c);
  }
  wait(other);
}

/* -- Start and stop ------------------------------------------------------- */

/* Sets the mode of a VM while another one has the profiler. If the owner's VM
** is just being closed, this starts the profiler. */
static void start_another(mp_cpu *c, lua_State *L)
{
  bool lent = c->capture->vm->proved && lend();
  luaJIT_profile_start(L, mode(c), on_safepoint, (void *)c->vm);
  if (lent) {
    lend_to(c);
    mp_lend_take(c->capture->vm->g);
    if (mp_ticks_user(c->tid) == NULL) start_timer(c);
    if (c->ticks == NULL) wait(c);
  } else if (mp_profiler_known() && mp_profiler_runs(on_safepoint, c->vm)) {
    disown();
    own(c);
  } else {
    wait(c);
  }
}

int mp_cpu_start(mp_cpu *c, lua_State *L)
{
  int err = 0;
  c->stopped = false;
  mp_pace_init(&c->pace);
  c->vm = lua_topointer(L, LUA_REGISTRYINDEX);
  c->tid = mp_process_thread();
  c->begun = clock_now(c);
  mp_lock();
  if (owner != NULL && !runs(owner)) disown();
  mp_lend_look(on_safepoint);
  if (owner != NULL || mp_lend_begun()) start_another(c, L);
  else if (taken()) err = EBUSY;
  else err = start_profiler(c, L, mode(c));
  mp_unlock();
  mp_cpu_look(c);
  return err;
}

/* Counts from zero, by the clock of the thread that c has. */
static void begin_again(mp_cpu *c)
{
  c->samples = c->dropped = 0;
  c->compiling = c->protecting = 0;
  c->before = c->seen = 0;
  c->begun = clock_now(c);
}

void mp_cpu_forget(mp_cpu *c)
{
  mp_lock();
  if (c->ticks != NULL) mp_ticks_take(c->ticks, 0);
  c->nplaces = 0;
  c->early = c->letter = 0;
  c->turn = 0;
  begin_again(c);
  mp_unlock();
}

/* The heir's mode is on already; setting it again would flush its
** traces, and its thread may be running them. */
static void hand_over(void)
{
  mp_cpu *c;
  while ((c = heirs) != NULL && is_lost(c)) heirs = c->next;
  if (c == NULL || taken()) return;
  heirs = c->next;
  start_profiler(c, c->capture->anchor, MP_SIGPROF_NEVER);
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
  mp_sigprof_hold();
  luaJIT_profile_stop(L);
  if (dumped) {
    luaJIT_profile_start(L, MP_SIGPROF_NEVER, ignore, NULL);
    luaJIT_profile_stop(L);
  }
  mp_sigprof_release();
}

static void stop_owner(mp_cpu *c, lua_State *L)
{
  bool by_process = c->by_process;
  bool ours = runs(c);
  disown();
  if (ours) stop_profiler(L);
  mp_ticks_clear();
  if (!by_process) mp_sigprof_put_back();
  hand_over();
}

/* The next VM of the thread need not wait until it allocates. */
static void pass_turn(pid_t tid)
{
  mp_cpu *c = heirs;
  while (c != NULL && (!c->lent || c->tid != tid || is_lost(c))) c = c->next;
  if (c != NULL && mp_ticks_user(tid) == NULL) join(c);
}

/* A dump may have been made in any VM, and is freed as if it were of the one
** that stops the profiler. */
static void stop_borrower(mp_cpu *c, lua_State *L)
{
  bool had = c->ticks != NULL;
  leave_heirs(c);
  c->withheld = false;
  c->lent = false;
  stop_timer(c);
  if (--borrowers > 0) {
    if (!mp_profiler_dumped()) {
      mp_lend_suspend(c->capture->vm->g);
      mp_sigprof_hold();
      luaJIT_profile_stop(L);
      mp_sigprof_release();
      mp_lend_resume(on_safepoint);
      mp_ticks_ask_again();
    }
    if (had) pass_turn(c->tid);
  } else {
    mp_lend_suspend(c->capture->vm->g);
    stop_profiler(L);
    mp_lend_end();
    mp_ticks_clear();
    mp_sigprof_put_back();
    hand_over();
  }
}

void mp_cpu_stop(mp_cpu *c, lua_State *L)
{
  mp_lock();
  c->lack = find_lack(c);
  c->idle = waits(c);
  c->stopped = true;
  if (owner == c) stop_owner(c, L);
  else if (c->lent) stop_borrower(c, L);
  else leave_heirs(c);
  mp_unlock();
}

void mp_cpu_lose(mp_cpu *c)
{
  mp_ticks *t = c->ticks;
  if (t != NULL) mp_ticks_hide(t);
}

/* -- Samples ------------------------------------------------------------- */

/* In the handler: notes the C function that these ticks have interrupted. It is
** not known: false. */
static bool note_called(mp_cpu *c, mp_tally ticks, const void *context)
{
  mp_callee called;
  mp_cpu_ticks *p = c->places;
  int i = 0, n = c->nplaces, state;
  if (ticks.ticks == 0 || !c->capture->vm->proved ||
      !mp_callee_interrupted(c->capture->vm, context, &called))
    return false;
  state = mp_vm_letter(c->capture->vm);
  while (i < n && (p[i].state != state ||
		   memcmp(&p[i].called, &called, sizeof(called)) != 0))
    i++;
  if (i == MP_CPU_PLACES) return false;
  if (i == n) {
    p[i] = (mp_cpu_ticks){ called, state, { 0, 0, 0 } };
    c->nplaces++;
  }
  mp_tally_add(&p[i].n, ticks);
  mp_ticks_take_some(c->ticks, ticks);
  return true;
}

static void add_called(const mp_cpu *c, mp_tally *sum)
{
  int i, n = c->nplaces;
  for (i = 0; i < n; i++) mp_tally_add(sum, c->places[i].n);
}

/* LuaJIT's callback. A VM that had the profiler before may still come here. The
** profile may end within, and the VM may have gone to another thread. LuaJIT's
** handler notes the state; an idle VM may have been asked without that. */
static void on_safepoint(void *data, lua_State *L, int samples, int state)
{
  const void *vm = lua_topointer(L, LUA_REGISTRYINDEX);
  mp_ticks *t = mp_ticks_of(vm);
  mp_tally waiting;
  mp_cpu *c;
  (void)data;
  if (t == NULL) return;
  c = mp_ticks_receiver(t);
  waiting = mp_ticks_take(t, samples);
  add_called(c, &waiting);
  samples = waiting.ticks + c->early;
  if (c->letter != 0) state = c->letter;
  else if (state == 0) state = 'I';
  c->early = c->letter = 0;
  mp_ticks_enter(t);
  mp_cpu_here(c);
  c->at_safepoint(c->data, L, samples, waiting, state);
  if (mp_ticks_of(vm) == t) mp_ticks_leave(t, c->capture->anchor);
}

static void count(mp_cpu *c, uint32_t row, mp_tally n)
{
  c->seen = mp_cpu_time(c);
  c->samples += (uint64_t)n.ticks;
  if (row != 0) mp_counts_cpu(c->capture->counts, row, n.weight, n.squares);
  else c->dropped += (uint64_t)n.ticks;
}

/* Counts ticks for the trace that runs, if any does, or for the compiler. */
static void count_in_trace(mp_cpu *c, int weight, const void *context)
{
#ifdef MP_LAYOUT
  const mp_vm *vm = c->capture->vm;
  int32_t n = vm->proved ? mp_vm_state(vm) : 0;
  if (n > 0 && n <= UINT16_MAX) {
    __atomic_fetch_add(&c->in_trace[n], (uint32_t)weight, __ATOMIC_RELAXED);
  } else if (vm->proved && mp_vm_letter(vm) == 'J') {
    c->compiling += (unsigned)weight;
    if (mp_machine_protects(context)) c->protecting += (unsigned)weight;
  }
#else
  (void)c; (void)weight; (void)context;
#endif
}

/* In our timer's handler: a tick within compiled code is counted at once, not
** at the next safepoint, which may be in another function, or never come. */
static mp_ticks_after *on_interrupt(void *user, mp_tally ticks,
				    const void *context, void **data)
{
  mp_cpu *c = user;
  mp_ticks *t = c->ticks;
  bool calm = false;
  uint32_t row;
  mp_tally n;
  /* LuaJIT notes the state of the VM that was interrupted last, and ran. */
  bool first = c->capture->vm->proved && c->letter == 0;
  if (first) c->letter = mp_vm_letter(c->capture->vm);
  if (c->in_trace != NULL) count_in_trace(c, ticks.weight, context);
  if (t == NULL || !mp_lock_try()) return NULL;
  row = mp_capture_interrupted(c->capture, context, &calm);
  if (row != 0 && (n = mp_ticks_take(t, 0)).ticks > 0) {
    count(c, row, n);
    c->early += n.ticks;
  } else if (row == 0 && note_called(c, ticks, context) && first) {
    c->letter = 0;  /* That is noted, too. */
  }
  mp_unlock();
  *data = c->data;
  return calm ? c->in_code : NULL;
}

void mp_cpu_count_missed(mp_cpu *c, uint32_t row)
{
  mp_ticks *t = c->ticks;
  mp_tally n;
  c->capture->missed = false;
  if (row == 0 || t == NULL) return;
  mp_capture_enter(c->capture);
  if ((n = mp_ticks_take(t, 0)).ticks > 0) {
    count(c, row, n);
    c->early += n.ticks;
  }
  mp_capture_leave(c->capture);
}

/* Counts the ticks that have interrupted C functions, as far as the functions
** are known, and takes them from those that wait. */
static void count_called(mp_cpu *c, lua_State *L, mp_tally *waiting)
{
  int i, n = c->nplaces;
  for (i = 0; i < n; i++) {
    const mp_cpu_ticks *p = &c->places[i];
    uint32_t row = mp_capture_called(c->capture, L, &p->called, p->state);
    if (row == 0) continue;
    count(c, row, p->n);
    mp_tally_subtract(waiting, p->n);
  }
  c->nplaces = 0;
}

void mp_cpu_count(mp_cpu *c, lua_State *L, mp_tally samples, int state)
{
  double begun;
  count_called(c, L, &samples);
  if (samples.ticks <= 0) return;
  begun = mp_clock_wall();
  count(c, mp_capture_row(c->capture, L, state), samples);
  mp_pace_capture(&c->pace, mp_clock_wall() - begun);
}

void mp_cpu_count_own(mp_cpu *c, const char *name)
{
  mp_ticks *t = c->ticks;
  mp_tally n = { 0, 0, 0 };
  if (t != NULL) n = mp_ticks_take(t, 0);
  if (n.ticks > 0) count(c, mp_capture_named(c->capture, name, 'I'), n);
}

void mp_cpu_here(mp_cpu *c)
{
  pid_t tid = mp_process_thread();
  if (tid == c->tid || is_lost(c)) return;  /* Only this thread changes it. */
  mp_lock();
  begin_clock(c, tid, c->by_process);
  if (c->ticks != NULL && c->by_process) {
    mp_ticks_move(c->ticks, tid);
  } else if (c->ticks != NULL) {
    stop_timer(c);
    if (mp_ticks_user(tid) == NULL) start_timer(c);
    else wait(c);
  }
  mp_unlock();
}

/* A thread of ours begins when the VM goes on: a child may be about to do what
** a process with several threads may not do. */
void mp_cpu_forked(void)
{
  mp_cpu *c;
  while ((c = mp_ticks_user(0)) != NULL) {
    c->withheld = mp_ticks_watched(c->ticks);
    mp_ticks_forget(c->ticks);
    c->ticks = NULL;
    c->nplaces = 0;
  }
  mp_lend_forked();
}

void mp_cpu_restart(mp_cpu *c)
{
  mp_pace_init(&c->pace);
  c->blocked = c->handled = false;
  c->tid = mp_process_thread();
  begin_again(c);
  if (!c->has_timer) return;
  c->waited = false;
  if (!c->withheld) start_timer(c);
}

void mp_cpu_continue(mp_cpu *c)
{
  c->before = c->seen;
  c->tid = mp_process_thread();
  c->begun = clock_now(c);
  if (c->has_timer && !c->withheld && !is_lost(c)) start_timer(c);
}

/* -- The absence of ticks ------------------------------------------------- */

/* No tick is sent that would wait for the program to unblock the signal: it
** might look for signals that wait. */
static void withhold(mp_cpu *c)
{
  if (c->by_process) return;
  c->withheld = true;
  stop_timer(c);
}

static void mend(mp_cpu *c)
{
  mp_ticks_fault fault = mp_ticks_look(c->ticks, !c->by_process);
  if (fault == MP_TICKS_BLOCKED) {
    if (!is_held()) c->blocked = true;
    if (!c->withheld) withhold(c);
  } else if (c->withheld && mp_ticks_user(c->tid) != NULL) {
    c->withheld = false;
    stop_timer(c);
    wait(c);
  } else if (fault != MP_TICKS_WELL || c->ticks == NULL) {
    stop_timer(c);
    start_timer(c);
    if (c->ticks == NULL || c->by_process) c->handled = true;
  }
}

void mp_cpu_look(mp_cpu *c)
{
  if (is_lost(c) || (owner != c && !c->lent)) return;
  mp_lock();
  if (owner == c && runs(c)) {
    mend(c);
  } else if (c->lent) {
    mp_lend_look(on_safepoint);
    if (c->ticks != NULL || c->withheld) mend(c);
    else take_turn(c);
  }
  mp_unlock();
}

void mp_cpu_withhold(void)
{
  mp_cpu *c;
  if (!mp_lock_is_free()) return;
  mp_lock();
  c = mp_ticks_user(mp_process_thread());
  if (c != NULL &&
      mp_ticks_look(c->ticks, !c->by_process) == MP_TICKS_BLOCKED) {
    c->blocked = true;
    withhold(c);
  }
  mp_unlock();
}

#define GAP_MIN	0.25		/* Seconds of CPU time without a sample, */
#define GAP_TICKS 25		/* or intervals: then the timer was lost. */

bool mp_cpu_lost(const mp_cpu *c, double now)
{
  double since = c->samples > 0 ? c->seen : 0;
  return c->had_timer && !(c->stopped ? c->idle : waits(c)) &&
	 now - since > GAP_MIN &&
	 now - since > (c->interval != 0 ? c->interval : MP_PACE_MAX) * 0.001 *
		       GAP_TICKS;
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
