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

/* -- Known frames -------------------------------------------------------- */

#define CLIMB	64		/* Steps, at most. */

/* The entry of an address, or the empty one that it would have. */
static const struct mp_cframe *entry_of(const mp_cframes *f, uint64_t ip)
{
  uint32_t i = (uint32_t)(ip >> 2) & (MP_CFRAMES - 1);
  while (f->known[i].ip != 0 && f->known[i].ip != ip)
    i = (i + 1) & (MP_CFRAMES - 1);
  return &f->known[i];
}

__attribute__((no_sanitize_address))
void mp_cframes_climb(const mp_cframes *f, mp_step *at, const char *end)
{
  int i;
  for (i = 0; i < CLIMB; i++) {
    const struct mp_cframe *e = entry_of(f, at->ip);
    if (e->ip == 0 || at->sp + e->size > end) return;
    at->ret = (const uintptr_t *)(const void *)(at->sp + e->ret);
    at->sp += e->size;
    at->ip = *at->ret;
  }
}

/* A word that happens to be equal must not be taken for the return address. */
__attribute__((no_sanitize_address))
void mp_cframes_note(mp_cframes *f, const mp_step *at, const mp_step *next)
{
  struct mp_cframe e = { at->ip, (uint32_t)(next->sp - at->sp), 0 };
  uint32_t i, found = 0;
  if (at->ip == 0 || next->sp <= at->sp || f->count >= MP_CFRAMES / 2) return;
  for (i = 0; i < e.size; i += sizeof(uintptr_t)) {
    if (*(const uintptr_t *)(const void *)(at->sp + i) != next->ip) continue;
    e.ret = i;
    found++;
  }
  if (found != 1 || entry_of(f, at->ip)->ip != 0) return;
  f->known[entry_of(f, at->ip) - f->known] = e;
  f->count++;
}

/* -- Functions and forks ------------------------------------------------- */

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
