/* SPDX-License-Identifier: MIT */
/* A thread of the process is seen to sleep, in which system call, and that it
** has been awake; the thread that looks has descriptors of its own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check_main.h"

#include "data/asleep.h"
#include "data/callname.h"
#include "data/clock.h"

static int there[2], back[2];	/* Pipes to the sleeper and from it. */
static atomic_int tid;

static void *sleeper(void *data)
{
  char c = 0;
  (void)data;
  atomic_store(&tid, (int)syscall(SYS_gettid));
  while (read(there[0], &c, 1) == 1 && c != 'e')
    if (write(back[1], &c, 1) != 1) break;
  return NULL;
}

/* Whether the thread is seen asleep in the pipe, in the end. */
static bool falls_asleep(const mp_asleep *a, mp_sleep *s)
{
  int i;
  for (i = 0; i < 20000; i++) {
    if (mp_asleep_look(a, s) && s->call == SYS_read) return true;
    mp_clock_pause(1);
  }
  return false;
}

START_TEST(sleeps)
{
  mp_asleep a = { -1, -1 };
  mp_sleep first, second;
  double queued = -1;
  uint64_t turns = 0;
  pthread_t thread;
  char c = 'x';
  ck_assert_int_eq(pipe(there), 0);
  ck_assert_int_eq(pipe(back), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, NULL), 0);
  while (atomic_load(&tid) == 0) mp_clock_pause(1);
  if (mp_asleep_open(&a, atomic_load(&tid))) {  /* Not in all kernels. */
    ck_assert(falls_asleep(&a, &first));
    ck_assert_str_eq(mp_callname(first.call), "(read)");
    ck_assert(mp_asleep_still(&a, &first));
    ck_assert_int_eq(write(there[1], &c, 1), 1);
    ck_assert_int_eq(read(back[0], &c, 1), 1);
    ck_assert(!mp_asleep_still(&a, &first));
    ck_assert(falls_asleep(&a, &second));
    ck_assert(second.turns > first.turns);
    ck_assert(second.slept > first.slept - 0.001);
    ck_assert(mp_asleep_queued(&a, &queued, &turns));
    ck_assert(turns >= second.turns && queued >= 0);
  }
  c = 'e';
  ck_assert_int_eq(write(there[1], &c, 1), 1);
  pthread_join(thread, NULL);
  if (a.times >= 0) {
    ck_assert(!mp_asleep_look(&a, &first) || first.call != SYS_read);
    mp_asleep_close(&a);
  }
  ck_assert_int_eq(a.times, -1);
  ck_assert(!mp_asleep_open(&a, 0x7ffffff0));
}
END_TEST

static atomic_int apart, seen, go_on;

static void *looker(void *data)
{
  (void)data;
  atomic_store(&apart, mp_asleep_apart() ? 1 : 2);
  atomic_store(&seen, fcntl(there[1], F_GETFD) >= 0 || errno != EBADF);
  while (!atomic_load(&go_on)) mp_clock_pause(1);
  return NULL;
}

START_TEST(descriptors)
{
  pthread_t thread;
  char c;
  ck_assert_int_eq(pipe(there), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, looker, NULL), 0);
  while (atomic_load(&apart) == 0) mp_clock_pause(1);
  ck_assert_int_ge(fcntl(there[1], F_GETFD), 0);
  close(there[1]);
  /* Nobody else has the other end: this does not wait. */
  if (atomic_load(&apart) == 1) ck_assert_int_eq(read(there[0], &c, 1), 0);
  atomic_store(&go_on, 1);
  pthread_join(thread, NULL);
  if (atomic_load(&apart) == 1) ck_assert_int_eq(atomic_load(&seen), 0);
  ck_assert_int_ge(fcntl(there[0], F_GETFD), 0);
  close(there[0]);
}
END_TEST

START_TEST(names)
{
  ck_assert_str_eq(mp_callname(SYS_nanosleep), "(nanosleep)");
  ck_assert_str_eq(mp_callname(-1), "(no system call)");
  ck_assert_str_eq(mp_callname(1 << 20), "(other system call)");
  ck_assert(mp_callname_isloop(SYS_epoll_pwait));
  ck_assert(!mp_callname_isloop(SYS_ppoll));
  ck_assert(mp_callname_maybeloop(SYS_ppoll));
  ck_assert(!mp_callname_maybeloop(SYS_read));
}
END_TEST

CHECK_MAIN("asleep", sleeps, descriptors, names)
