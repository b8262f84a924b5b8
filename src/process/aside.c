/* SPDX-License-Identifier: MIT */
/*
** See process/aside.h.
*/
#include "config.h"

#include "data/thread.h"
#include "process/aside.h"

#define STACK (1 << 20)		/* Bytes. */

bool mp_aside(void *(*f)(void *data), void *data)
{
  pthread_attr_t attributes;
  pthread_t thread;
  int err;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  err = mp_thread_start(&thread, &attributes, f, data);
  pthread_attr_destroy(&attributes);
  return err == 0;
}
