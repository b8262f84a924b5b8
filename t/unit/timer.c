/* SPDX-License-Identifier: MIT */
/* The timers on the CPU time of a thread. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check_main.h"

#include "data/clock.h"
#include "data/pace.h"
#include "data/timer.h"

static mp_timer timer;
static mp_pace *pace;		/* Of the timer, or NULL. */
static mp_tally sum;
static volatile sig_atomic_t ticks, elsewhere;
static pid_t expected;

static void on_tick(int sig, siginfo_t *info, void *context)
{
  int saved = errno;
  (void)sig; (void)context;
  mp_tally_add(&sum, mp_timer_ticks(&timer, info, pace));
  ticks = sum.ticks;
  if ((pid_t)syscall(SYS_gettid) != expected) elsewhere++;
  errno = saved;
}

static pid_t self(void) { return (pid_t)syscall(SYS_gettid); }

static void take_signal(void)
{
  struct sigaction sa;
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_tick;
  sa.sa_flags = SA_SIGINFO;
  sigaction(SIGURG, &sa, NULL);
  ticks = elsewhere = 0;
  sum = (mp_tally){ 0, 0, 0 };
}

/* Uses that many seconds of this thread's CPU time. */
static void use(double seconds)
{
  double end = mp_clock_thread(self()) + seconds;
  while (mp_clock_thread(self()) < end) ;
}

#define TICKS	20
#define INTERVAL 0.01		/* Seconds. */

/* Every kind ticks, and not more often than asked. How many ticks the kernel
** leaves out, where the machine is busy, is its own affair. */
static void check_kind(mp_timerkind best)
{
  double begun = mp_clock_thread(self()), used = 0;
  int n;
  take_signal();
  expected = self();
  ck_assert(mp_timer_start(&timer, best, expected, SIGURG,
			   (uint64_t)(INTERVAL * 1e9)));
  ck_assert(best == MP_TIMER_TASK || timer.kind == best);
  while (ticks < TICKS && used < 20) used = mp_clock_thread(self()) - begun;
  mp_timer_stop(&timer);
  n = ticks;
  ck_assert_msg(n >= TICKS, "%d ticks in %g seconds", n, used);
  ck_assert_msg(n <= 2 * used / INTERVAL + 2, "%d ticks in %g seconds", n,
		used);
  ck_assert_int_eq(elsewhere, 0);
  use(0.2);
  ck_assert_int_eq(ticks, n);
}

START_TEST(the_best_that_there_is) { check_kind(MP_TIMER_TASK); }
END_TEST

START_TEST(the_posix_timer)
{
  check_kind(MP_TIMER_THREAD);
}
END_TEST

START_TEST(the_watched_thread)
{
  check_kind(MP_TIMER_WATCHED);
}
END_TEST

/* -- An interval that adapts ----------------------------------------------- */

START_TEST(every_kind_of_timer_adapts)
{
  mp_timerkind kind;
  for (kind = MP_TIMER_TASK; kind <= MP_TIMER_WATCHED; kind++) {
    double used = 0, begun = mp_clock_thread(self());
    mp_pace p;
    mp_pace_init(&p);
    p.passed = 2500;
    pace = &p;
    take_signal();
    expected = self();
    ck_assert(mp_timer_start(&timer, kind, expected, SIGURG, 1000000));
    /* One signal may stand for many ticks of the first interval. */
    while ((ticks < TICKS || sum.weight <= ticks) && used < 20)
      used = mp_clock_thread(self()) - begun;
    mp_timer_stop(&timer);
    ck_assert_int_ge(ticks, TICKS);
    ck_assert_msg(sum.weight > ticks && sum.squares > sum.weight,
		  "kind %d: %d ticks, weight %d, squares %d", (int)kind,
		  (int)ticks, sum.weight, sum.squares);
    ck_assert(p.passed == 2500 + sum.weight);
    pace = NULL;
  }
}
END_TEST

/* -------------------------------------------------------------------------- */

static void *use_cpu(void *seconds)
{
  use(*(double *)seconds);
  return NULL;
}

START_TEST(other_threads_do_not_count)
{
  mp_timerkind kind;
  double seconds = 0.5;
  for (kind = MP_TIMER_TASK; kind <= MP_TIMER_WATCHED; kind++) {
    pthread_t t;
    take_signal();
    expected = self();
    ck_assert(mp_timer_start(&timer, kind, expected, SIGURG, 1000000));
    pthread_create(&t, NULL, use_cpu, &seconds);
    pthread_join(t, NULL);
    mp_timer_stop(&timer);
    ck_assert_msg(ticks < 50, "%d ticks", (int)ticks);
  }
}
END_TEST

/* Signals from elsewhere are no ticks. */
START_TEST(only_the_signals_of_the_timer_count)
{
  mp_timerkind kind;
  union sigval value = { .sival_ptr = &timer };
  expected = self();
  for (kind = MP_TIMER_TASK; kind <= MP_TIMER_WATCHED; kind++) {
    int n;
    take_signal();
    ck_assert(mp_timer_start(&timer, kind, expected, SIGURG,
			     UINT64_C(1000000000000)));
    for (n = 0; n < 10; n++) {
      kill(getpid(), SIGURG);
      raise(SIGURG);
      sigqueue(getpid(), SIGURG, value);
    }
    ck_assert_int_eq(ticks, 0);
    mp_timer_stop(&timer);
  }
}
END_TEST

/* As a daemon does. */
START_TEST(it_ticks_after_its_descriptor_was_closed)
{
  double begun = mp_clock_thread(self());
  take_signal();
  expected = self();
  ck_assert(mp_timer_start(&timer, MP_TIMER_TASK, expected, SIGURG, 1000000));
  ck_assert(mp_timer_whole(&timer));
  if (timer.kind == MP_TIMER_TASK && timer.page != MAP_FAILED) {
    close(timer.fd);
    ck_assert(!mp_timer_whole(&timer));
  }
  while (ticks < TICKS && mp_clock_thread(self()) - begun < 20) ;
  ck_assert_int_ge(ticks, TICKS);
  mp_timer_stop(&timer);
}
END_TEST

START_TEST(a_closed_descriptor_is_not_closed_again)
{
  int fd;
  take_signal();
  expected = self();
  ck_assert(mp_timer_start(&timer, MP_TIMER_TASK, expected, SIGURG, 1000000));
  if (timer.kind == MP_TIMER_TASK) {
    close(timer.fd);
    fd = dup2(STDOUT_FILENO, timer.fd);
    ck_assert_int_eq(fd, timer.fd);
    mp_timer_stop(&timer);
    ck_assert_int_eq(close(fd), 0);
  } else {
    mp_timer_stop(&timer);
  }
}
END_TEST

static void *nothing(void *tid)
{
  *(pid_t *)tid = self();
  return NULL;
}

START_TEST(a_thread_that_has_ended)
{
  pthread_t t;
  pid_t tid;
  pthread_create(&t, NULL, nothing, &tid);
  pthread_join(t, NULL);
  usleep(10000);
  ck_assert(mp_clock_thread(tid) < 0);
  ck_assert(!mp_timer_start(&timer, MP_TIMER_TASK, tid, SIGURG, 1000000));
  mp_timer_stop(&timer);
}
END_TEST

CHECK_MAIN("timer", the_best_that_there_is, the_posix_timer,
	   the_watched_thread, other_threads_do_not_count,
	   only_the_signals_of_the_timer_count,
	   it_ticks_after_its_descriptor_was_closed,
	   a_closed_descriptor_is_not_closed_again,
	   a_thread_that_has_ended, every_kind_of_timer_adapts)
