/*
** The CPU sampler: the VM's own profiling timer (luaJIT_profile_start).
**
** The timer counts CPU time of the process. Its signal asks the VM for a
** safepoint, where the callback captures the stack. The line mode ("l") is
** always on: with it, compiled code has a safepoint at each line.
**
** There is one such timer in a process. A second VM that is profiled gets its
** heap samples all the same, and the timer once the first VM leaves it.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "profile/ctx.h"

#include "luajit.h"

static double seconds(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double mp_timer_cpu(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

double mp_timer_wall(void) { return seconds(CLOCK_MONOTONIC); }

static void on_safepoint(void *data, lua_State *L, int samples, int vmstate)
{
  mp_ctx *c = data;
  if (c->done) return;
  c->thread = pthread_self();
  samples -= c->raised;
  c->raised = 0;
  if (samples > 0) {
    uint32_t row = mp_capture_row(&c->capture, L, vmstate);
    c->cpu_seen = mp_timer_cpu();
    c->cpu_samples += (uint64_t)samples;
    if (row != 0) c->counts.rows[row].cpu += samples;
    else c->dropped += (uint64_t)samples;
  }
  mp_alloc_safepoint(c, L, vmstate);
  mp_point_take(c, false);
  mp_screen_tick(c);
  if (mp_end_signalled()) mp_end_by_signal(true);
  mp_end_take_signals();
}

#define GAP_MIN	0.25		/* Seconds of CPU time without a sample, */
#define GAP_TICKS 25		/* or intervals: then the timer was lost. */

bool mp_timer_lost(const mp_ctx *c, double now)
{
  double since = c->cpu_samples > 0 ? c->cpu_seen : c->cpu0;
  return c->timed && now - since > GAP_MIN &&
	 now - since > c->interval * 0.001 * GAP_TICKS;
}

static mp_ctx *owner;		/* Who has the timer. */

/* Whether somebody else runs the interval timer or listens to its signal. */
static bool timer_taken(void)
{
  struct itimerval tm;
  struct sigaction sa;
  if (getitimer(ITIMER_PROF, &tm) == 0 &&
      (tm.it_interval.tv_sec != 0 || tm.it_interval.tv_usec != 0 ||
       tm.it_value.tv_sec != 0 || tm.it_value.tv_usec != 0))
    return true;
  return sigaction(SIGPROF, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL &&
	 sa.sa_handler != SIG_IGN;
}

static void timer_begin(mp_ctx *c, lua_State *L, const char *lines)
{
  char mode[32];
  snprintf(mode, sizeof(mode), "%si%d", lines, c->interval);
  /* When the timer is stopped, LuaJIT puts back what was there before; a
  ** signal that is still on its way would kill the process then. */
  signal(SIGPROF, SIG_IGN);
  luaJIT_profile_start(L, mode, on_safepoint, c);
  c->timer = c->timed = true;
  owner = c;
}

int mp_timer_start(mp_ctx *c, lua_State *L)
{
  int err = 0;
  mp_capture_mutex(true);
  if (owner != NULL) {
    /* Only sets the line mode of this VM. */
    luaJIT_profile_start(L, "l", on_safepoint, c);
    mp_ctx_note(c, "no CPU samples while another Lua state of this process "
		   "has the profiling timer: there is one in a process");
  } else if (timer_taken()) {
    err = EBUSY;
  } else {
    timer_begin(c, L, "l");
  }
  mp_capture_mutex(false);
  return err;
}

void mp_timer_stop(mp_ctx *c, lua_State *L)
{
  mp_ctx *heir;
  if (!c->timer) return;
  mp_capture_mutex(true);
  luaJIT_profile_stop(L);
  c->timer = false;
  owner = NULL;
  for (heir = mp_end_list(); heir != NULL; heir = heir->next)
    if (heir != c && heir->started && !heir->done && heir->pid == c->pid) {
      /* Its line mode is on already; another one would flush its traces,
      ** and its thread may be running them. */
      timer_begin(heir, heir->anchor, "");
      break;
    }
  mp_capture_mutex(false);
}

/* Interval timers do not survive a fork. */
void mp_timer_forked(mp_ctx *c)
{
  struct itimerval tm;
  if (!c->timer) return;
  tm.it_interval.tv_sec = tm.it_value.tv_sec = c->interval / 1000;
  tm.it_interval.tv_usec = tm.it_value.tv_usec = c->interval % 1000 * 1000;
  setitimer(ITIMER_PROF, &tm, NULL);
}
