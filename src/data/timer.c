/* SPDX-License-Identifier: MIT */
/*
** See data/timer.h.
*/
#include "config.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/fd.h"
#include "data/seed.h"
#include "data/timer.h"

/* The kernel's number for the CPU clock of a thread, as glibc makes it. */
static clockid_t thread_clock(pid_t tid)
{
  return (clockid_t)(~(unsigned)tid << 3 | 6);
}

double mp_timer_clock(pid_t tid)
{
  struct timespec t;
  if (clock_gettime(thread_clock(tid), &t) != 0) return -1;
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -- The task clock ------------------------------------------------------ */

/* Time in the kernel counts. If that time may not be measured, this clock would
** charge it to the code that runs next, so the clock is not used then. */
static int open_task_clock(pid_t tid, uint64_t interval)
{
  struct perf_event_attr a;
  memset(&a, 0, sizeof(a));
  a.size = sizeof(a);
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_TASK_CLOCK;
  a.sample_period = interval;
  a.wakeup_events = 1;
  a.disabled = 1;
  return mp_fd_high((int)syscall(SYS_perf_event_open, &a, tid, -1, -1,
				 PERF_FLAG_FD_CLOEXEC));
}

static bool start_task_clock(mp_timer *t)
{
  struct f_owner_ex owner = { F_OWNER_TID, t->tid };
  t->fd = open_task_clock(t->tid, t->interval);
  if (t->fd < 0) return false;
  if (fcntl(t->fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
      fcntl(t->fd, F_SETSIG, t->sig) == 0 &&
      fcntl(t->fd, F_SETOWN_EX, &owner) == 0 &&
      ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
    return true;
  close(t->fd);
  return false;
}

/* Whether the descriptor is still ours: the program may have closed it, and
** opened another file. */
static bool is_open(const mp_timer *t)
{
  struct f_owner_ex owner;
  return fcntl(t->fd, F_GETSIG) == t->sig &&
	 fcntl(t->fd, F_GETOWN_EX, &owner) == 0 &&
	 owner.type == F_OWNER_TID && owner.pid == t->tid;
}

void mp_timer_ticked(mp_timer *t)
{
  uint64_t next;
  if (t->kind != MP_TIMER_TASK) return;
  t->random = t->random * UINT64_C(6364136223846793005) + 1;
  next = t->interval / 2 + (uint64_t)((double)(t->random >> 32) / UINT32_MAX *
				      (double)t->interval);
  ioctl(t->fd, PERF_EVENT_IOC_PERIOD, &next);
}

/* -- The POSIX timer ----------------------------------------------------- */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static bool start_thread_timer(mp_timer *t)
{
  struct itimerspec when;
  struct sigevent ev;
  memset(&ev, 0, sizeof(ev));
  ev.sigev_notify = SIGEV_THREAD_ID;
  ev.sigev_signo = t->sig;
  ev.sigev_notify_thread_id = t->tid;
  if (timer_create(thread_clock(t->tid), &ev, &t->id) != 0) return false;
  when.it_interval.tv_sec = (time_t)(t->interval / 1000000000);
  when.it_interval.tv_nsec = (long)(t->interval % 1000000000);
  when.it_value = when.it_interval;
  if (timer_settime(t->id, 0, &when, NULL) == 0) return true;
  timer_delete(t->id);
  return false;
}

/* -- Both ---------------------------------------------------------------- */

bool mp_timer_start(mp_timer *t, mp_timerkind best, pid_t tid, int sig,
		    uint64_t interval)
{
  memset(t, 0, sizeof(*t));
  t->tid = tid;
  t->sig = sig;
  t->interval = interval;
  t->random = mp_seed();
  if (best == MP_TIMER_TASK && start_task_clock(t)) t->kind = MP_TIMER_TASK;
  else if (start_thread_timer(t)) t->kind = MP_TIMER_THREAD;
  return t->kind != MP_TIMER_NONE;
}

void mp_timer_stop(mp_timer *t)
{
  if (t->kind == MP_TIMER_TASK && is_open(t)) close(t->fd);
  if (t->kind == MP_TIMER_THREAD) timer_delete(t->id);
  t->kind = MP_TIMER_NONE;
}

void mp_timer_forget(mp_timer *t)
{
  if (t->kind == MP_TIMER_TASK && is_open(t)) close(t->fd);
  t->kind = MP_TIMER_NONE;
}
