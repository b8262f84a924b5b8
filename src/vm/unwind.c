/* SPDX-License-Identifier: MIT */
/*
** See vm/unwind.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include "vm/unwind.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool threads;		/* At the fork there were others. */
static bool off;

__attribute__((noinline, no_sanitize_address))
bool mp_unwind(_Unwind_Trace_Fn step, void *data)
{
  bool on;
  pthread_mutex_lock(&lock);
  on = !off;
  if (on) _Unwind_Backtrace(step, data);
  pthread_mutex_unlock(&lock);
  return on;
}

const void *mp_unwind_function(const void *ip)
{
  const void *start;
  pthread_mutex_lock(&lock);
  start = off ? NULL : _Unwind_FindEnclosingFunction((void *)(uintptr_t)ip);
  pthread_mutex_unlock(&lock);
  return start;
}

/* Each thread is a directory there, beside "." and "..". */
static bool has_threads(void)
{
  struct stat st;
  return stat("/proc/self/task", &st) != 0 || st.st_nlink > 3;
}

void mp_unwind_before_fork(void)
{
  pthread_mutex_lock(&lock);
  threads = has_threads();
}

void mp_unwind_in_parent(void) { pthread_mutex_unlock(&lock); }

void mp_unwind_in_child(void)
{
  pthread_mutex_init(&lock, NULL);
  off = off || threads;
}
