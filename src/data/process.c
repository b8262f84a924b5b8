/* SPDX-License-Identifier: MIT */
/*
** See data/process.h.
*/
#include "config.h"

#include <pthread.h>
#include <unistd.h>

#include "data/process.h"

static pid_t stood_in_for;	/* Or 0. */
static _Atomic pid_t owner;	/* Of the memory. */

pid_t mp_process(void) { return stood_in_for ? stood_in_for : getpid(); }

void mp_process_stand_in(pid_t pid) { stood_in_for = pid; }

bool mp_process_stands_in(void) { return stood_in_for != 0; }

static void renew(void) { owner = getpid(); }

static void note(void)
{
  renew();
  pthread_atfork(NULL, NULL, renew);
}

void mp_process_note(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, note);
}

bool mp_process_borrows(void)
{
  return stood_in_for == 0 && owner != getpid();
}
