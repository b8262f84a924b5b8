/* SPDX-License-Identifier: MIT */
/*
** See process/exec.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "data/execport.h"
#include "data/lock.h"
#include "process/ctx.h"
#include "process/exec.h"
#include "process/signal.h"
#include "process/standin.h"
#include "report/write.h"

static bool is_reported(const mp_ctx *c)
{
  return !c->final.done && c->profile.span.pid == getpid();
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

void mp_exec_install(void)
{
  mp_execport *port = dlsym(RTLD_DEFAULT, MP_EXECPORT_SYMBOL);
  if (port == NULL || port->version != MP_EXECPORT_VERSION) return;
  port->failed = failed;
  port->before = before;
  port->awaits = mp_cpu_withhold;
}
