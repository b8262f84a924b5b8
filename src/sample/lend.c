/* SPDX-License-Identifier: MIT */
/*
** See sample/lend.h.
*/
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "data/clock.h"
#include "sample/lend.h"
#include "sample/sigprof.h"
#include "vm/profiler.h"
#include "vm/vm.h"

#include "lauxlib.h"

const char mp_lend_data;

static lua_State *keeper;
static void *_Atomic kept;	/* The keeper, as LuaJIT has it; or NULL. */
static atomic_int suspended;
static atomic_flag lent = ATOMIC_FLAG_INIT;  /* At the moment. */

#define TRIES	1000		/* To get it while another thread has it. */

/* Rests before another try. A thread of a real-time class has to sleep, lest
** one of lower priority never go on. */
static void rest(int tries)
{
  int saved = errno;
  if (tries < TRIES) sched_yield();
  else mp_clock_pause(1);
  errno = saved;
}

void mp_lend_await(const atomic_int *handlers)
{
  int n;
  for (n = 0; *handlers != 0; n += n < TRIES) rest(n);
}

/* -- For the handlers ---------------------------------------------------- */

/* While it is lent no handler may come in between, lest another thread wait. */
static bool take(sigset_t *old)
{
  sigset_t all;
  int n;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, old);
  for (n = 0; n < TRIES; n++) {
    if (!atomic_flag_test_and_set(&lent)) return true;
    sched_yield();
  }
  pthread_sigmask(SIG_SETMASK, old, NULL);
  return false;
}

static void give_back(const sigset_t *old)
{
  atomic_flag_clear(&lent);
  pthread_sigmask(SIG_SETMASK, old, NULL);
}

bool mp_lend_trigger(void *g, void (*trigger)(void))
{
  bool done = false;
  sigset_t old;
  void *k;
  if (!take(&old)) return false;
  k = kept;
  if (suspended == 0 && k != NULL && mp_profiler_pass(k, g)) {
    trigger();
    mp_profiler_pass(g, k);
    done = true;
  }
  give_back(&old);
  return done;
}

/* After this no handler lends it, nor does one that was under way. */
static void suspend(void)
{
  int n;
  suspended++;
  for (n = 0; atomic_flag_test_and_set(&lent); n += n < TRIES) rest(n);
  atomic_flag_clear(&lent);
}

/* -- The keeper ---------------------------------------------------------- */

bool mp_lend_begun(void) { return kept != NULL; }

bool mp_lend_begin(luaJIT_profile_callback cb, const void *data, void *g)
{
  if (!mp_profiler_known() || !mp_profiler_runs(cb, data) ||
      mp_profiler_dumped() || (keeper = luaL_newstate()) == NULL)
    return false;
  if (!mp_profiler_pass(g, mp_vm_global(keeper))) {
    lua_close(keeper);
    return false;
  }
  mp_profiler_set_data(&mp_lend_data);
  kept = mp_vm_global(keeper);
  return true;
}

void mp_lend_suspend(void *g)
{
  suspend();
  mp_profiler_pass(kept, g);
}

static void start(luaJIT_profile_callback cb)
{
  signal(SIGPROF, SIG_IGN);
  luaJIT_profile_start(keeper, MP_SIGPROF_NEVER, cb,
		       (void *)(size_t)&mp_lend_data);
  mp_sigprof_stop_timer();
  mp_sigprof_lend();
}

void mp_lend_resume(luaJIT_profile_callback cb)
{
  if (!mp_profiler_taken()) start(cb);
  suspended--;
}

void mp_lend_look(luaJIT_profile_callback cb)
{
  if (kept == NULL || mp_profiler_taken()) return;
  suspend();
  mp_lend_resume(cb);
}

void mp_lend_take(void *g)
{
  if (mp_profiler_pass(g, kept)) mp_profiler_set_data(&mp_lend_data);
}

void mp_lend_end(void)
{
  kept = NULL;
  suspended--;
  lua_close(keeper);
}

void mp_lend_forked(void)
{
  suspended = 0;
  atomic_flag_clear(&lent);
  if (kept != NULL && mp_profiler_taken()) mp_profiler_reset(kept);
}
