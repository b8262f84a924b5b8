/* SPDX-License-Identifier: MIT */
/*
** See sample/blocked.h.
*/
#include "config.h"


#include "data/callname.h"
#include "data/clock.h"
#include "data/process.h"
#include "sample/blocked.h"

void mp_blocked_init(mp_blocked *b, const mp_vm *vm,
		     const mp_coroutines *coroutines, const void *zones)
{
  b->zones = zones;
  b->vm = *vm;
  b->coroutines = coroutines;
  b->files = b->own = (mp_asleep){ -1, -1 };
}

void mp_blocked_here(mp_blocked *b)
{
  atomic_store_explicit(&b->mine, mp_asleep_mine(), memory_order_relaxed);
  atomic_store_explicit(&b->tid, (int)mp_process_thread(),
			memory_order_release);
}

static void give_up(mp_blocked *b, const char *why)
{
  atomic_store_explicit(&b->why, why, memory_order_relaxed);
}

/* Opens the files of the thread that runs the VM now. */
static bool follow(mp_blocked *b)
{
  int tid = atomic_load_explicit(&b->tid, memory_order_acquire);
  if (tid == b->opened) return true;
  mp_asleep_close(&b->files);
  b->seen = b->same = b->again = false;
  b->last.turns = b->turns = 0;
  b->opened = 0;
  b->last.slept = atomic_load_explicit(&b->mine, memory_order_relaxed);
  if (!mp_asleep_open(&b->files, tid)) {
    give_up(b, "the kernel does not tell when threads sleep "
	    "(/proc/self/task/*/schedstat and syscall)");
    return false;
  }
  b->opened = tid;
  return true;
}

/* Copies of the program's descriptors would keep its files open. */
void mp_blocked_open(mp_blocked *b)
{
  if (!mp_asleep_apart())
    give_up(b, "the kernel gives no thread descriptors of its own "
	    "(close_range, Linux 5.9)");
  else if (follow(b))
    mp_asleep_open(&b->own, (int)mp_process_thread());
}

void mp_blocked_close(mp_blocked *b)
{
  mp_asleep_close(&b->files);
  mp_asleep_close(&b->own);
}

#define STOPPED	0.05		/* Seconds; fewer may have other reasons. */

void mp_blocked_woke(mp_blocked *b, double late)
{
  double waited = 0;
  uint64_t turns;
  if (!mp_asleep_queued(&b->own, &waited, &turns)) return;
  late -= waited - b->waited;
  b->waited = waited;
  if (late > STOPPED) b->last.slept += late;
}

/* All waits since are taken to be as long. Where it was waiting at the last
** look, half of that was over; where it was running, something could change
** before it had to wait. */
double mp_blocked_queued(mp_blocked *b)
{
  double queued, each = 0;
  uint64_t turns;
  if (atomic_load_explicit(&b->why, memory_order_relaxed) != NULL ||
      !follow(b) || !mp_asleep_queued(&b->files, &queued, &turns))
    return 0;
  if (b->turns != 0 && turns != b->turns)
    each = b->ahead * (queued - b->queued) / (double)(turns - b->turns);
  b->queued = queued;
  b->turns = turns;
  b->ahead = 1;
  b->cpu = mp_clock_thread(b->opened);
  return each;
}

/* Seconds of sleep since the last look at some; 0 also where that is not
** known. */
static double since_last(const mp_blocked *b, double slept)
{
  return slept > b->last.slept ? slept - b->last.slept : 0;
}

/* All sleep since the last look at some is divided between that place and this
** one; the first place has all. A sleep that is seen once may be one of many
** that are not: its seconds are those of a sample. Where it is seen again, all
** in between is certain, and only where it began and ended is not known. */
static void weigh(mp_blocked *b, const mp_sleep *now)
{
  double seconds = since_last(b, now->slept), square = seconds * seconds;
  double slept = b->last.slept;
  b->before = b->seen ? seconds / 2 : 0;
  b->seconds = seconds - b->before;
  b->before_variance = 0;
  if (b->same) {
    b->variance = -b->square / 3;
    b->square = 0;
  } else {
    if (b->seen) b->before_variance = square / (b->again ? 6 : 2);
    b->square = b->seen ? square : 2 * square;
    b->variance = b->square / 2;
  }
  b->again = b->same;
  b->seen = true;
  b->last = *now;
  if (slept > now->slept) b->last.slept = slept;
}

/* In the main coroutine a host or a scheduler waits for what lets the others go
** on. */
static bool is_loop(const mp_blocked *b, const lua_State *L, bool parked)
{
  return mp_callname_isloop(b->call) ||
	 (parked && (const char *)L == b->vm.mainl &&
	  mp_callname_maybeloop(b->call));
}

uintptr_t mp_blocked_stack(mp_blocked *b)
{
  return atomic_load_explicit(&b->why, memory_order_relaxed) == NULL &&
	 follow(b) ? mp_asleep_stack(&b->files) : 0;
}

/* A host's loop sleeps on a C stack of its own: the coroutine that has run last
** waits on another one. Other calls may be those of a callback that runs on
** such a stack, as Go's do, and which the coroutine has to wait for. */
static bool has_left(const mp_sleep *now, const lua_State *L,
		     const mp_parked *p)
{
  return (mp_callname_isloop(now->call) || mp_callname_maybeloop(now->call)) &&
	 mp_parked_inc(p) && !mp_parked_ison(L, now->sp);
}

bool mp_blocked_look(mp_blocked *b, bool parked)
{
  const lua_State *L;
  mp_sleep now;
  bool zoned;
  if (atomic_load_explicit(&b->why, memory_order_relaxed) != NULL || !follow(b))
    return false;
  if (!mp_asleep_look(&b->files, &now)) {
    b->ahead = mp_clock_thread(b->opened) > b->cpu ? 0 : 0.5;
    return false;
  }
  L = mp_parked_running(&b->vm, &b->parked);
  b->labels = L != NULL ? mp_coroutines_peek(b->coroutines, L) : 0;
  b->left = L != NULL && has_left(&now, L, &b->parked);
  if (b->left) L = NULL;
  zoned = L == NULL && mp_parked_zone(b->zones);
  if (!mp_asleep_still(&b->files, &now)) {  /* What was read may be torn. */
    b->parked.n = 0;
    b->labels = 0;
    zoned = b->left = false;
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

bool mp_blocked_last(mp_blocked *b, double mine)
{
  if (atomic_load_explicit(&b->why, memory_order_relaxed) != NULL ||
      !b->seen || b->opened != atomic_load(&b->tid))
    return false;
  b->before = since_last(b, mine);
  b->before_variance = b->before * b->before / (b->again ? 3 : 1);
  return true;
}
