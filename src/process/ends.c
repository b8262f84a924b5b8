/* SPDX-License-Identifier: MIT */
/*
** See process/ends.h.
*/
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef HAVE_ON_EXIT
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "data/clock.h"
#include "data/lock.h"
#include "data/process.h"
#include "heapwalk/walk.h"
#include "process/ends.h"
#include "process/inherit.h"
#include "profile/leaks.h"
#include "profile/memory.h"
#include "profile/point.h"
#include "report/write.h"

/* -- The exit status ------------------------------------------------------ */

/* More leaked than the user allows: a process that would exit with success
** exits with this status. */
#define EXIT_LEAK	3

static bool leaky;		/* The program leaked more than is allowed. */

#ifdef HAVE_ON_EXIT

static void set_status(int status, void *unused)
{
  (void)unused;
  if (status != 0 || !leaky) return;
  fflush(NULL);
  _exit(EXIT_LEAK);
}

void mp_ends_install(void) { on_exit(set_status, NULL); }

#else

/* No handler learns the status: the system call with which the process ends
** has it. A filter makes that with status 0 a signal, and the handler ends the
** process with the other status. */

static void end_leaky(int sig)
{
  (void)sig;
  _exit(EXIT_LEAK);
}

static void trap_success(void)
{
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  };
  struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void set_status(void)
{
  struct sigaction a = { .sa_handler = end_leaky };
  sigset_t set;
  if (!leaky) return;
  sigemptyset(&a.sa_mask);
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  if (sigaction(SIGSYS, &a, NULL) != 0) return;
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  fflush(NULL);
  trap_success();
}

void mp_ends_install(void) { atexit(set_status); }

#endif

/* -- The final reports ---------------------------------------------------- */

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
  int i;
  if (c->final.written || mp_process_stands_in() ||
      pthread_equal(c->final.reporter, pthread_self()))
    return;
  for (i = 0; i < PATIENCE && !c->final.written; i++) mp_clock_pause(1);
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
    mp_memory_take_partly(&c->profile, &c->report.state->memory);
  err = mp_report_finish(&c->report, &c->plan, &leaked, buf, n);
  if (c->plan.writer.on_stop != NULL && !mp_process_stands_in())
    c->plan.writer.on_stop(c->plan.writer.ctx, err < 0 ? -1 : err);
  if (c->plan.leak_limit > 0 && leaked >= c->plan.leak_limit) leaky = true;
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
  if (c->plan.memory) mp_memory_take(&c->profile, &c->report.state->memory);
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
