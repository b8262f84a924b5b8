/*
** See sample/cpu.h.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "data/clock.h"
#include "data/lock.h"
#include "sample/cpu.h"

/* -- Samples ------------------------------------------------------------- */

void mp_cpu_count(mp_cpu *c, lua_State *L, int signals, int state)
{
  int samples = signals - c->asked;
  uint32_t row;
  c->asked = 0;
  if (samples <= 0) return;
  row = mp_capture_row(c->capture, L, state);
  c->seen = mp_clock_cpu();
  c->samples += (uint64_t)samples;
  if (row != 0) c->capture->counts->rows[row].cpu += samples;
  else c->dropped += (uint64_t)samples;
}

void mp_cpu_ask(mp_cpu *c)
{
  c->asked++;
  raise(SIGPROF);
}

#define GAP_MIN	0.25		/* Seconds of CPU time without a sample, */
#define GAP_TICKS 25		/* or intervals: then the timer was lost. */

bool mp_cpu_lost(const mp_cpu *c, double now)
{
  double since = c->samples > 0 ? c->seen : c->begun;
  return c->had_timer && now - since > GAP_MIN &&
	 now - since > c->interval * 0.001 * GAP_TICKS;
}

/* -- The timer ----------------------------------------------------------- */

static mp_cpu *owner;		/* Who has the timer, */
static mp_cpu *heirs;		/* and who would take it. Under the lock. */

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

static void timer_begin(mp_cpu *c, lua_State *L, const char *lines)
{
  char mode[32];
  snprintf(mode, sizeof(mode), "%si%d", lines, c->interval);
  /* LuaJIT puts back what was there before when the timer is stopped; a
  ** signal that is still on its way would kill the process then. */
  signal(SIGPROF, SIG_IGN);
  luaJIT_profile_start(L, mode, c->at_safepoint, c->data);
  c->has_timer = c->had_timer = true;
  owner = c;
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

int mp_cpu_start(mp_cpu *c, lua_State *L)
{
  int err = 0;
  c->begun = mp_clock_cpu();
  mp_lock();
  if (owner != NULL) {
    /* Only sets the line mode of this VM. */
    luaJIT_profile_start(L, "l", c->at_safepoint, c->data);
    c->waited = true;
    c->next = heirs;
    heirs = c;
  } else if (timer_taken()) {
    err = EBUSY;
  } else {
    timer_begin(c, L, "l");
  }
  mp_unlock();
  return err;
}

void mp_cpu_stop(mp_cpu *c, lua_State *L)
{
  mp_lock();
  if (c->has_timer) {
    luaJIT_profile_stop(L);
    c->has_timer = false;
    owner = heirs;
    /* The heir's line mode is on already; setting it again would flush its
    ** traces, and its thread may be running them. */
    if (owner != NULL) {
      heirs = owner->next;
      timer_begin(owner, owner->capture->anchor, "");
    }
  } else {
    leave_heirs(c);
  }
  mp_unlock();
}

void mp_cpu_restart(mp_cpu *c)
{
  struct itimerval tm;
  c->samples = 0;
  c->begun = mp_clock_cpu();
  if (!c->has_timer) return;
  c->waited = false;
  tm.it_interval.tv_sec = tm.it_value.tv_sec = c->interval / 1000;
  tm.it_interval.tv_usec = tm.it_value.tv_usec = c->interval % 1000 * 1000;
  setitimer(ITIMER_PROF, &tm, NULL);
}
