/* SPDX-License-Identifier: MIT */
/*
** See sample/sigprof.h.
*/
#include "config.h"

#include <stddef.h>
#include <sys/time.h>
#include <ucontext.h>

#include "sample/sigprof.h"

static struct sigaction luajits;  /* The action of LuaJIT's profiler, */
static bool seen;		/* once it was seen. */
static struct sigaction programs;  /* What the signal does without it. */
static struct itimerval held;	/* Another profiler's timer. */
static bool armed;		/* The timer has an interval of ours. */

bool mp_sigprof_has_handler(const struct sigaction *sa)
{
  return (sa->sa_flags & SA_SIGINFO) ||
	 (sa->sa_handler != SIG_DFL && sa->sa_handler != SIG_IGN);
}

/* -- LuaJIT's handler ----------------------------------------------------- */

void mp_sigprof_learn(void)
{
  struct sigaction sa;
  if (seen || sigaction(SIGPROF, NULL, &sa) != 0 ||
      !mp_sigprof_has_handler(&sa))
    return;
  luajits = sa;
  seen = true;
}

bool mp_sigprof_known(void) { return seen; }

bool mp_sigprof_is_luajits(const struct sigaction *sa)
{
  if (!seen || ((sa->sa_flags ^ luajits.sa_flags) & SA_SIGINFO)) return false;
  return sa->sa_flags & SA_SIGINFO ?
	 sa->sa_sigaction == luajits.sa_sigaction :
	 sa->sa_handler == luajits.sa_handler;
}

/* Forks have a handler that is told more of the signal. Theirs does not look at
** it, for LuaJIT's profiler; one that does is told nothing. */
void mp_sigprof_trigger(void)
{
  static siginfo_t nothing;
  static ucontext_t nowhere;
  if (luajits.sa_flags & SA_SIGINFO)
    luajits.sa_sigaction(SIGPROF, &nothing, &nowhere);
  else
    luajits.sa_handler(SIGPROF);
}

/* -- The interval timer ---------------------------------------------------- */

/* Whether it runs for neither LuaJIT nor us. */
static bool is_anothers(struct itimerval *tm)
{
  if (armed || getitimer(ITIMER_PROF, tm) != 0) return false;
  return (tm->it_value.tv_sec != 0 || tm->it_value.tv_usec != 0) &&
	 tm->it_interval.tv_sec != MP_SIGPROF_SECONDS;
}

void mp_sigprof_set_timer(int ms)
{
  struct itimerval tm;
  tm.it_interval.tv_sec = tm.it_value.tv_sec = ms / 1000;
  tm.it_interval.tv_usec = tm.it_value.tv_usec = ms % 1000 * 1000;
  setitimer(ITIMER_PROF, &tm, NULL);
  armed = ms != 0;
}

void mp_sigprof_stop_timer(void)
{
  struct itimerval tm;
  if (!is_anothers(&tm)) mp_sigprof_set_timer(0);
}

bool mp_sigprof_armed(void) { return armed; }

/* -- The program's handler ------------------------------------------------- */

void mp_sigprof_take(void)
{
  sigaction(SIGPROF, NULL, &programs);
  signal(SIGPROF, SIG_IGN);
}

bool mp_sigprof_used(void) { return mp_sigprof_has_handler(&programs); }

void mp_sigprof_lend(void)
{
  if (mp_sigprof_used()) sigaction(SIGPROF, &programs, NULL);
}

void mp_sigprof_hold(void)
{
  const struct itimerval none = { { 0, 0 }, { 0, 0 } };
  struct sigaction sa;
  if (!is_anothers(&held)) held = none;
  if (mp_sigprof_used() && sigaction(SIGPROF, NULL, &sa) == 0 &&
      mp_sigprof_has_handler(&sa) && !mp_sigprof_is_luajits(&sa))
    programs = sa;
}

void mp_sigprof_release(void)
{
  if (held.it_value.tv_sec != 0 || held.it_value.tv_usec != 0)
    setitimer(ITIMER_PROF, &held, NULL);
}

void mp_sigprof_put_back(void)
{
  struct sigaction sa;
  if (sigaction(SIGPROF, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
    sigaction(SIGPROF, &programs, NULL);
}
