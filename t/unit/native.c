/* SPDX-License-Identifier: MIT */
/* The lock of the sampler of C memory. */
#include "config.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"

#include "native/native.h"

/* The clock of the day was set back by an hour since the last look. In place of
** libc's. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
  int err = (int)syscall(SYS_clock_gettime, clock, t);
  if (clock == CLOCK_REALTIME) t->tv_sec += 3600;
  return err;
}

static void *try_lock(void *ud)
{
  (void)ud;
  mp_native_before_fork();
  return NULL;
}

START_TEST(a_clock_that_is_set_back_lets_nobody_wait)
{
  pthread_t t;
  alarm(60);
  mp_native_before_fork();  /* Has the lock from now on. */
  pthread_create(&t, NULL, try_lock, NULL);
  pthread_join(t, NULL);
  mp_native_parent();
}
END_TEST

CHECK_MAIN("native", a_clock_that_is_set_back_lets_nobody_wait)
