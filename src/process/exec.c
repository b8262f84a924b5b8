/* SPDX-License-Identifier: MIT */
/*
** See process/exec.h.
*/
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "process/ctx.h"
#include "process/exec.h"
#include "process/inherit.h"
#include "process/intercept.h"
#include "process/signal.h"
#include "process/standin.h"
#include "report/write.h"

static bool is_reported(const mp_ctx *c)
{
  return !c->final.done && c->profile.span.pid == mp_process_self();
}

/* False in the child of vfork, too, which shares the list with its parent. */
static bool has_reports(void)
{
  const mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (is_reported(c)) return true;
  return false;
}

static bool never(void) { return false; }

static void before(void)
{
  mp_ctx *c;
  if (!has_reports()) return;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (is_reported(c)) mp_ctx_await(c);
  mp_signal_hold();
  mp_lock();
  if (!mp_standin_report(never, mp_write_leave_stdout))
    mp_say("the report is lost: the program was replaced by exec in the middle "
	   "of a change of its memory");
  mp_unlock();
  mp_signal_die();  /* The next program would not know of the signal. */
  mp_signal_release();
}

/* The reports are still to be made. */
static void failed(void)
{
  mp_ctx *c;
  if (!has_reports()) return;
  mp_lock();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    if (!is_reported(c)) continue;
    mp_span_go_on(&c->profile.span);
    if (c->heir.estate != NULL) c->heir.estate->claimed = false;
  }
  mp_unlock();
}

/* -- _exit --------------------------------------------------------------- */

/* Milliseconds for others that use a profile. */
#define PATIENCE	1000

static bool is_left(void)
{
  const mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (is_reported(c) && mp_inherit_leaves(c)) return true;
  return false;
}

/* This may be a signal handler that has interrupted them. */
static bool is_in_use(void)
{
  const mp_ctx *c;
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (is_reported(c) && c->final.read) return true;
  return false;
}

/* Waits for those who use a profile. Returns whether we have the lock. */
static bool settle(void)
{
  bool ours = mp_lock_try();
  mp_ctx *c;
  int i;
  for (c = mp_ctx_list(); c != NULL; c = c->next) mp_ctx_hurry(c);
  for (i = 0; i < PATIENCE && !(ours && !is_in_use()); i++) {
    mp_clock_pause(1);
    ours = ours || mp_lock_try();
  }
  return ours;
}

/* A copy may be of a moment when another thread was changing its memory. */
#define COPIES	3

static void report(void)
{
  bool ours, written = false;
  int i;
  mp_signal_hold_at_end();
  ours = settle();
  for (i = 0; i < COPIES && !written; i++)
    written = mp_standin_report(never, mp_write_leave_stdout);
  if (!written)
    mp_say("the report is lost: the program ended by _exit in the middle of a "
	   "change of its memory");
  if (ours) mp_unlock();
  mp_signal_release_at_end();
}

/* Other threads that leave, too, wait: with this one its child would end. A
** handler that has interrupted this one does not. */
static void leaves(void)
{
  static atomic_int leaver;
  static atomic_bool done;
  int none = 0, self = (int)mp_process_thread();
  if (!has_reports() || is_left()) return;
  if (atomic_compare_exchange_strong(&leaver, &none, self)) {
    report();
    done = true;
  } else if (none != self) {
    while (!done) mp_clock_pause(1);
  }
}

void mp_exec_install(void)
{
  mp_execport *port = mp_intercept_port();
  if (port == NULL) return;
  port->failed = failed;
  port->before = before;
  port->leaves = leaves;
  port->awaits = mp_cpu_withhold;
}
