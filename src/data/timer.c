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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/fd.h"
#include "data/process.h"
#include "data/seed.h"
#include "data/thread.h"
#include "data/timer.h"

/* -- A clock that is watched ---------------------------------------------- */

/*
** A thread of ours that watches the CPU time of another thread of this process
** and sends it a signal whenever an interval has passed: for systems that
** permit no timer on the CPU time of a thread.
**
** A signal does not come at the exact moment, but a little later. So no ticks
** get lost where several intervals pass in between, the next signal stands for
** all of them. The intervals vary as data/timer.h says.
*/

#define SECOND		1000000000u	/* Nanoseconds. */
#define PAUSE_MAX	20000000u	/* Between two looks at a thread that */
					/* sleeps: nanoseconds. */

static void send(mp_watch *w)
{
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  info.si_signo = w->sig;
  info.si_code = SI_QUEUE;
  info.si_pid = mp_process_self();
  info.si_uid = getuid();
  info.si_value.sival_ptr = w;
  syscall(SYS_rt_tgsigqueueinfo, info.si_pid, w->tid, w->sig, &info);
}

/* In the handler of its signal, whose value is the watch: the intervals that
** have passed since the last one. Async-signal-safe. */
static int watch_ticks(mp_watch *w, int *ms)
{
  *ms = atomic_exchange(&w->time, 0);
  return atomic_exchange(&w->due, 0);
}

/* Waits until the time has passed or the thread is to end, under the lock. */
static void rest(mp_watch *w, uint64_t ns)
{
  const struct timespec t = mp_thread_after(ns);
  pthread_cond_timedwait(&w->changed, &w->lock, &t);
}

/* The thread's CPU time in nanoseconds; 0: there is no such thread. */
static uint64_t used(const mp_watch *w)
{
  double s = mp_clock_thread(w->tid);
  return s < 0 ? 0 : (uint64_t)(s * 1e9);
}

/* Begins the next interval. Returns the milliseconds of the one before. */
static int begin(mp_watch *w, uint64_t *next)
{
  int passed = (int)(w->interval / 1000000), wanted = w->wanted;
  if (wanted != 0) w->interval = (uint64_t)wanted * 1000000;
  *next += mp_seed_vary(&w->random, w->interval);
  return passed;
}

/* While the other thread sleeps this one looks ever more seldom. */
static void *watch(void *ud)
{
  mp_watch *w = ud;
  uint64_t now = used(w), last = now, pause = 0;
  uint64_t next = now + mp_seed_vary(&w->random, w->interval);
  prctl(PR_SET_NAME, "luajit-mp");
  prctl(PR_SET_TIMERSLACK, 1);
  pthread_mutex_lock(&w->lock);
  while (!w->end) {
    int n = 0, ms = 0;
    pause = now != last || pause == 0 ? next - now :
	    pause < PAUSE_MAX / 2 ? pause * 2 : PAUSE_MAX;
    last = now;
    rest(w, pause);
    now = used(w);
    for (; now >= next; n++) ms += begin(w, &next);
    if (now < last) now = last;  /* The thread has ended. */
    if (n == 0 || w->end) continue;
    w->due += n;
    w->time += ms;
    send(w);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* Starts to watch. False: there is no thread to be had. */
static bool watch_start(mp_watch *w, pid_t tid, int sig, uint64_t interval,
		    uint64_t seed)
{
  w->tid = tid;
  w->sig = sig;
  w->interval = interval;
  w->random = seed;
  w->end = false;
  w->wanted = 0;
  w->due = 0;
  w->time = 0;
  if (mp_clock_thread(tid) < 0) return false;
  pthread_mutex_init(&w->lock, NULL);
  mp_thread_condition(&w->changed);
  return mp_thread_start(&w->thread, NULL, watch, w) == 0;
}

/* Ends the thread, and waits for that. A signal may still be on its way. */
static void watch_stop(mp_watch *w)
{
  pthread_mutex_lock(&w->lock);
  w->end = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
}

/* -- Timers --------------------------------------------------------------- */

/* The kernel's number for the CPU clock of a thread, as glibc makes it. */
static clockid_t thread_clock(pid_t tid)
{
  return (clockid_t)(~(unsigned)tid << 3 | 6);
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

/* The event lives as long as this mapping: a program may close all descriptors
** that it did not open itself. */
static void hold(mp_timer *t)
{
  t->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
		 t->fd, 0);
}

static void let_go(mp_timer *t)
{
  if (t->page != MAP_FAILED)
    munmap(t->page, (size_t)sysconf(_SC_PAGESIZE));
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

static bool start_task_clock(mp_timer *t)
{
  struct f_owner_ex owner = { F_OWNER_TID, t->tid };
  t->fd = open_task_clock(t->tid, t->interval);
  if (t->fd < 0) return false;
  if (fcntl(t->fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
      fcntl(t->fd, F_SETSIG, t->sig) == 0 &&
      fcntl(t->fd, F_SETOWN_EX, &owner) == 0 &&
      ioctl(t->fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
    hold(t);
    return true;
  }
  close(t->fd);
  return false;
}

static int milliseconds(const mp_timer *t)
{
  return (int)(t->interval / 1000000);
}

static void set_interval(mp_timer *t, int ms)
{
  t->interval = (uint64_t)ms * 1000000;
}

/* A tick with its interrupt takes up to this many times as long as setting the
** next one, which can be measured; both take longer in a virtual machine. */
#define TICK	12

/* Sets the time to the next tick. */
static void vary(mp_timer *t, mp_pace *pace)
{
  uint64_t next;
  double begun;
  if (!is_open(t)) return;
  if (pace != NULL) set_interval(t, mp_pace_interval(pace));
  next = mp_seed_vary(&t->random, t->interval);
  begun = mp_clock_wall();
  ioctl(t->fd, PERF_EVENT_IOC_PERIOD, &next);
  if (pace != NULL) mp_pace_tick(pace, TICK * (mp_clock_wall() - begun));
}

/* -- The POSIX timer ----------------------------------------------------- */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* From now on. */
static bool set_thread_timer(mp_timer *t)
{
  struct itimerspec when;
  when.it_interval.tv_sec = (time_t)(t->interval / 1000000000);
  when.it_interval.tv_nsec = (long)(t->interval % 1000000000);
  when.it_value = when.it_interval;
  return timer_settime(t->id, 0, &when, NULL) == 0;
}

/* Intervals may have passed before the kernel looked at the clock. */
static mp_tally thread_ticks(mp_timer *t, const siginfo_t *info, mp_pace *pace)
{
  int ms = milliseconds(t), next;
  mp_tally n = mp_pace_count(pace, 1, ms * (1 + info->si_overrun));
  if (pace != NULL && (next = mp_pace_interval(pace)) != ms) {
    set_interval(t, next);
    set_thread_timer(t);
  }
  return n;
}

static bool start_thread_timer(mp_timer *t)
{
  struct sigevent ev;
  memset(&ev, 0, sizeof(ev));
  ev.sigev_notify = SIGEV_THREAD_ID;
  ev.sigev_signo = t->sig;
  ev.sigev_notify_thread_id = t->tid;
  ev.sigev_value.sival_ptr = t;
  if (timer_create(thread_clock(t->tid), &ev, &t->id) != 0) return false;
  if (set_thread_timer(t)) return true;
  timer_delete(t->id);
  return false;
}

/* -- All ----------------------------------------------------------------- */

static bool start_kind(mp_timer *t)
{
  switch (t->kind) {
  case MP_TIMER_TASK: return start_task_clock(t);
  case MP_TIMER_THREAD: return start_thread_timer(t);
  case MP_TIMER_WATCHED:
    return watch_start(&t->watch, t->tid, t->sig, t->interval, t->random);
  case MP_TIMER_NONE: break;
  }
  return false;
}

bool mp_timer_start(mp_timer *t, mp_timerkind best, pid_t tid, int sig,
		    uint64_t interval)
{
  memset(t, 0, sizeof(*t));
  t->tid = tid;
  t->sig = sig;
  t->interval = interval;
  t->random = mp_seed();
  t->fd = -1;
  for (t->kind = best; t->kind <= MP_TIMER_WATCHED; t->kind++)
    if (start_kind(t)) return true;
  t->kind = MP_TIMER_NONE;
  return false;
}

/* A descriptor's number cannot be another's while the event lives: see hold. */
bool mp_timer_sent(const mp_timer *t, const siginfo_t *info)
{
  switch (info->si_code) {
  case POLL_IN: case POLL_HUP: return info->si_fd == t->fd;
  case SI_TIMER: return info->si_value.sival_ptr == t;
  case SI_QUEUE: return info->si_value.sival_ptr == &t->watch;
  default: return false;
  }
}

static mp_tally watched_ticks(mp_timer *t, mp_pace *pace)
{
  int ms, n = watch_ticks(&t->watch, &ms);
  if (pace == NULL || n == 0) return mp_pace_count(NULL, n, 0);
  pace->passed += ms;
  t->watch.wanted = mp_pace_interval(pace);
  return (mp_tally){ n, ms, (int)((double)ms * ms / n) };
}

mp_tally mp_timer_ticks(mp_timer *t, const siginfo_t *info, mp_pace *pace)
{
  mp_tally tally = { 0, 0, 0 };
  if (t->kind == MP_TIMER_NONE || !mp_timer_sent(t, info)) return tally;
  if (t->kind == MP_TIMER_WATCHED) return watched_ticks(t, pace);
  if (t->kind == MP_TIMER_THREAD) return thread_ticks(t, info, pace);
  tally = mp_pace_count(pace, 1, milliseconds(t));
  vary(t, pace);
  return tally;
}

bool mp_timer_whole(const mp_timer *t)
{
  return t->kind != MP_TIMER_TASK || is_open(t);
}

static void stop_task_clock(mp_timer *t)
{
  if (is_open(t)) close(t->fd);
  let_go(t);
}

void mp_timer_stop(mp_timer *t)
{
  if (t->kind == MP_TIMER_TASK) stop_task_clock(t);
  if (t->kind == MP_TIMER_THREAD) timer_delete(t->id);
  if (t->kind == MP_TIMER_WATCHED) watch_stop(&t->watch);
  t->kind = MP_TIMER_NONE;
}

/* The child has neither the mapping nor the thread. */
void mp_timer_forget(mp_timer *t)
{
  if (t->kind == MP_TIMER_TASK && is_open(t)) close(t->fd);
  t->kind = MP_TIMER_NONE;
}
