/* SPDX-License-Identifier: MIT */
/*
** See process/final.h.
*/
#include "config.h"

#include <time.h>

#include "data/lock.h"
#include "data/process.h"
#include "heapwalk/walk.h"
#include "process/exit.h"
#include "process/final.h"
#include "process/inherit.h"
#include "profile/leaks.h"
#include "profile/memory.h"
#include "profile/point.h"
#include "report/write.h"

/* Whether the report is this thread's to make. */
static bool claim(mp_ctx *c)
{
  bool ok;
  mp_lock();
  ok = !c->final.done && c->profile.span.pid == mp_process();
  if (ok) {
    c->final.done = true;
    c->final.reporter = pthread_self();
    mp_inherit_end(c);
  }
  mp_unlock();
  return ok;
}

#define PATIENCE 60000		/* Milliseconds for another thread's report. */

/* The process, or the VM, must not end while another thread reports. */
static void wait_for_reporter(mp_ctx *c)
{
  const struct timespec step = { 0, 1000000 };
  int i;
  if (c->final.written || mp_process_stands_in() ||
      pthread_equal(c->final.reporter, pthread_self()))
    return;
  for (i = 0; i < PATIENCE && !c->final.written; i++) nanosleep(&step, NULL);
  if (!c->final.written)
    mp_say("the report is lost: the thread that writes it takes too long");
}

static int report(mp_ctx *c, char *buf, size_t n)
{
  double leaked;
  int err;
  if (!c->profile.span.ended)
    mp_span_end(&c->profile.span, mp_cpu_time(&c->profile.cpu));
  mp_screen_close(&c->screen);
  if (c->plan.memory && c->profile.memory == NULL)
    mp_memory_take_partly(&c->profile, &c->report.state.memory);
  err = mp_report_finish(&c->report, &c->plan, &leaked, buf, n);
  if (c->plan.writer.on_stop != NULL && !mp_process_stands_in())
    c->plan.writer.on_stop(c->plan.writer.ctx, err < 0 ? -1 : err);
  if (c->plan.leak_limit > 0 && leaked >= c->plan.leak_limit) mp_exit_leaky();
  return err;
}

int mp_final_report(mp_ctx *c, char *buf, size_t n)
{
  int err = 0;
  mp_inherit_settle(c);
  if (claim(c)) {
    err = report(c, buf, n);
    c->final.written = true;
  } else if (c->final.done) {
    wait_for_reporter(c);
  }
  return err;
}

/* Prepares the final report while the VM is at rest. */
static void prepare(mp_ctx *c)
{
  lua_State *L = c->profile.capture.anchor;
  if (L == NULL) return;
  mp_ctx_await(c);
  mp_leaks_collect(&c->profile, L);
  if (c->plan.memory) mp_memory_take(&c->profile, &c->report.state.memory);
  mp_compiler_take(&c->profile.compiler);
  mp_heapwalk_refresh(&c->profile, L, &c->plan.walk, MP_AT_END);
  mp_point_force(&c->profile);
}

static void report_or_say(mp_ctx *c)
{
  char msg[512];
  if (mp_final_report(c, msg, sizeof(msg)) != 0) mp_say(msg);
}

/* The VM of another thread may be running. */
static bool is_here(const mp_ctx *c)
{
  return c->profile.span.pid == mp_process() &&
	 pthread_equal(c->thread, pthread_self());
}

void mp_final_report_all(void)
{
  mp_ctx *c;
  mp_ctx_keep_all();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    mp_inherit_settle(c);
    if (!c->final.done && is_here(c)) prepare(c);
    report_or_say(c);
  }
}

void mp_final_report_stuck(void)
{
  mp_ctx *c;
  mp_ctx_keep_all();
  for (c = mp_ctx_list(); c != NULL; c = c->next) {
    mp_inherit_look(c);
    report_or_say(c);
  }
}
