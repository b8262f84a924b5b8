/* SPDX-License-Identifier: MIT */
/*
** See sample/blocked.h.
*/
#include "config.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "data/callname.h"
#include "sample/blocked.h"

void mp_blocked_init(mp_blocked *b, const mp_vm *vm,
		     const mp_coroutines *coroutines, const void *zones)
{
  b->zones = zones;
  b->vm = *vm;
  b->coroutines = coroutines;
  b->files = (mp_asleep){ -1, -1 };
  mp_blocked_here(b);
}

void mp_blocked_here(mp_blocked *b)
{
  atomic_store_explicit(&b->tid, (int)syscall(SYS_gettid),
			memory_order_relaxed);
}

static void give_up(mp_blocked *b, const char *why)
{
  atomic_store_explicit(&b->why, why, memory_order_relaxed);
}

/* Copies of the program's descriptors would keep its files open. */
void mp_blocked_open(mp_blocked *b)
{
  if (!mp_asleep_apart())
    give_up(b, "the kernel gives no thread descriptors of its own "
	    "(close_range, Linux 5.9)");
}

void mp_blocked_close(mp_blocked *b) { mp_asleep_close(&b->files); }

/* Opens the files of the thread that runs the VM now. */
static bool follow(mp_blocked *b)
{
  int tid = atomic_load_explicit(&b->tid, memory_order_relaxed);
  if (tid == b->opened) return true;
  mp_asleep_close(&b->files);
  b->seen = false;
  b->opened = 0;
  if (!mp_asleep_open(&b->files, tid)) {
    give_up(b, "the kernel does not tell when threads sleep "
	    "(/proc/self/task/*/schedstat and syscall)");
    return false;
  }
  b->opened = tid;
  return true;
}

/* All sleep since the last look at some is divided between that place and this
** one. A sleep that is seen once may be one of many that are not: its seconds
** are those of a sample. Where it is seen again, all in between is certain, and
** only where it began and ended is not known. */
static void weigh(mp_blocked *b, const mp_sleep *now)
{
  double seconds = b->seen ? now->slept - b->last.slept : 0, square;
  if (seconds < 0) seconds = 0;
  square = seconds * seconds;
  if (b->same) {
    b->before_variance = 0;
    b->variance = -b->square / 3;
    b->square = 0;
  } else {
    b->before_variance = square / (b->again ? 6 : 2);
    b->variance = square / 2;
    b->square = square;
  }
  b->half = seconds / 2;
  b->again = b->same;
  b->seen = true;
  b->last = *now;
}

/* In the main coroutine a host or a scheduler waits for what lets the others go
** on. */
static bool is_loop(const mp_blocked *b, const lua_State *L, bool parked)
{
  return mp_callname_isloop(b->call) ||
	 (parked && (const char *)L == b->vm.mainl &&
	  mp_callname_maybeloop(b->call));
}

bool mp_blocked_look(mp_blocked *b, bool parked)
{
  const lua_State *L;
  mp_sleep now;
  bool zoned;
  if (atomic_load_explicit(&b->why, memory_order_relaxed) != NULL ||
      !follow(b) || !mp_asleep_look(&b->files, &now))
    return false;
  L = mp_parked_running(&b->vm, &b->parked);
  b->labels = L != NULL ? mp_coroutines_peek(b->coroutines, L) : 0;
  zoned = L == NULL && mp_parked_zone(b->zones);
  if (!mp_asleep_still(&b->files, &now)) {  /* What was read may be torn. */
    b->parked.n = 0;
    b->labels = 0;
    zoned = false;
  }
  if (zoned) atomic_store_explicit(&b->zoned, true, memory_order_relaxed);
  b->same = b->seen && b->last.turns == now.turns;
  weigh(b, &now);
  b->placed = L != NULL;
  b->call = now.call;
  /* One sleep is one place, although others begin to wait. */
  if (!b->same) b->loop = L != NULL && is_loop(b, L, parked);
  return true;
}
