/* SPDX-License-Identifier: MIT */
/*
** See process/aside.h.
*/
#include "config.h"

#include <pthread.h>
#include <signal.h>

#include "process/aside.h"

#define STACK (1 << 20)		/* Bytes. */

bool mp_aside(void *(*f)(void *data), void *data)
{
  pthread_attr_t attributes;
  sigset_t all, old_mask;
  pthread_t thread;
  int err;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old_mask);
  err = pthread_create(&thread, &attributes, f, data);
  pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
  pthread_attr_destroy(&attributes);
  return err == 0;
}
