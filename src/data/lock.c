/* SPDX-License-Identifier: MIT */
/*
** See data/lock.h.
*/
#include "config.h"

#include <pthread.h>
#include <signal.h>

#include "data/lock.h"

#ifdef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void renew(void)
{
  mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

#else

static pthread_mutex_t mutex;

/* Before anything else in this object. */
__attribute__((constructor(101))) static void renew(void)
{
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &a);
}

#endif

static volatile sig_atomic_t held;

void mp_lock(void)
{
  pthread_mutex_lock(&mutex);
  held++;
}

bool mp_lock_try(void)
{
  if (pthread_mutex_trylock(&mutex) != 0) return false;
  held++;
  return true;
}

void mp_unlock(void)
{
  held--;
  pthread_mutex_unlock(&mutex);
}

bool mp_lock_is_free(void) { return held == 0; }

void mp_lock_renew(void)
{
  held = 0;
  renew();
}
