/* SPDX-License-Identifier: MIT */
/*
** See process/aside.h.
*/
#include "config.h"

#include "data/thread.h"
#include "process/aside.h"

bool mp_aside(void *(*f)(void *data), void *data)
{
  pthread_t thread;
  return mp_thread_start_roomy(&thread, PTHREAD_CREATE_DETACHED, f, data) == 0;
}
