/* SPDX-License-Identifier: MIT */
/*
** See sample/alloc.h.
*/
#include "config.h"

#include <string.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/seed.h"
#include "sample/alloc.h"

#define FAR	((int64_t)1 << 60)	/* Bytes that no program allocates. */
#define NEVER	UINT64_MAX	/* No number of allocations. */

void mp_alloc_draw_distance(mp_alloc *h)
{
  uint64_t here = mp_alloc_bytes(h);
  if (mp_period_due(&h->period))
    mp_period_adapt(&h->period, here, mp_alloc_inuse(h), mp_clock_cpu());
  h->now.countdown = mp_period_next(&h->period) - 1;
  h->held = 0;
  h->drawn = here + (uint64_t)h->now.countdown;
}

uint64_t mp_alloc_bytes(const mp_alloc *h)
{
  int64_t left = h->frozen ? h->saved.countdown : h->now.countdown + h->held;
  return (uint64_t)((int64_t)h->drawn - left);
}

uint64_t mp_alloc_allocs(const mp_alloc *h)
{
  return h->frozen ? h->saved.allocs : h->now.allocs;
}

size_t mp_alloc_inuse(mp_alloc *h)
{
  lua_State *L = h->capture->anchor;
  size_t n;
  if (h->frozen || L == NULL) return h->saved_inuse;
  n = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
      (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
  if (n > h->peak) mp_alloc_peaks(h, n);
  return n;
}

/* It is also stopped while a finalizer runs, which is seldom. Older versions of
** LuaJIT do not tell. */
void mp_alloc_look(mp_alloc *h)
{
  lua_State *L = h->capture->anchor;
  if (L == NULL) return;  /* The VM is being closed. */
  h->looks++;
  if (lua_gc(L, LUA_GCISRUNNING, 0) == 0) h->stopped++;
}

void mp_alloc_freeze(mp_alloc *h)
{
  mp_capture_enter(h->capture);
  mp_alloc_unhold(h);
  h->saved = h->now;
  h->saved_inuse = mp_alloc_inuse(h);
  h->frozen = true;
  h->now.countdown = FAR;
}

void mp_alloc_thaw(mp_alloc *h)
{
  if (h->capture->anchor == NULL) return;  /* For ever. */
  /* Allocations so far count as made before the start; frees were counted. */
  h->inuse_start += (uint64_t)(FAR - h->now.countdown);
  h->now = h->saved;
  h->watched = NEVER;
  h->frozen = false;
  mp_alloc_inuse(h);
  mp_alloc_hold(h);
  mp_capture_leave(h->capture);
}

void mp_alloc_lose(mp_alloc *h)
{
  if (!h->frozen) mp_alloc_freeze(h);
  h->capture->anchor = NULL;
  h->capture->mate = NULL;
  h->lost(h->tick_data);
}

/* -- Watching the heap --------------------------------------------------- */

void mp_alloc_watch(mp_alloc *h, size_t osize)
{
  size_t before = *mp_vm_total(&h->vm) + osize;
  h->watched = h->now.allocs;
  if (before > h->peak) mp_alloc_peaks(h, before);
  if (mp_vm_white(&h->vm) != h->white) {
    h->white = mp_vm_white(&h->vm);
    h->cycles++;
    mp_capture_collected(h->capture);
    h->tick(h->tick_data, true);
    h->stamp += h->stamp != 0;
    if (h->wants_leaks) mp_alloc_flip(h);
  }
}

/* -- The child of a fork ------------------------------------------------- */

/* All objects get the age that one has which is allocated now. */
static void restart_ages(mp_alloc *h)
{
  uint32_t i;
  for (i = 1; i <= h->samples.count; i++)
    h->samples.list[i].birth = h->samples.list[i].cycle = 0;
  h->oldest = h->stamp;
}

void mp_alloc_restart(mp_alloc *h)
{
  double mean = h->period.adaptive ? 0 : h->period.mean;
  mp_period_init(&h->period, (uint64_t)mean, mp_seed());
  h->drawn = (uint64_t)(h->now.countdown + h->held);
  h->now.allocs = h->frees = h->cycles = h->taken = 0;
  h->looks = h->stopped = 0;
  h->reallocs = h->realloc_bytes = h->realloc_freed = 0;
  mp_events_free(&h->events);
  memset(h->by_type, 0, sizeof(h->by_type));
  mp_held_free(&h->kept);
  h->asked.counted = false;
  /* The block's allocation has just been forgotten: no row has it to give. */
  h->types.unknown.block = NULL;
  h->watched = NEVER;
  restart_ages(h);
  h->peak = 0;
  h->inuse_start = mp_alloc_inuse(h);
  h->seconds = 0;
  h->collected = false;
  if (!h->frozen && !h->exact) mp_alloc_draw_distance(h);
}

/* -- Leaks --------------------------------------------------------------- */

void mp_alloc_flip(mp_alloc *h)
{
  const mp_held_record now = {
    h->seconds, (double)mp_alloc_bytes(h), h->cycles
  };
  mp_lock();  /* The thread that ends the process may look at it. */
  mp_held_flip(&h->kept, &now, h->capture->counts);
  mp_unlock();
}

bool mp_alloc_judged(const mp_alloc *h, const mp_sample *s)
{
  uint64_t done = h->cycles;
  if (h->collected) return true;
  if (!mp_alloc_sees(h)) return false;
  if (done > 0 && mp_vm_phase(&h->vm) == 's') done--;
  return (int32_t)((uint32_t)done - s->cycle) > 0;
}

/* -- Beginning and end --------------------------------------------------- */

/* Every call takes a fast path that reads nothing else, or a slow one that
** checks `retired` first. */
static void retire(mp_alloc *h)
{
  h->retired = h->frozen = true;
  h->rows_only = h->tagged = false;
  h->now.countdown = FAR;
  h->peak = SIZE_MAX;
  h->types.unknown.block = NULL;
}

void mp_alloc_init(mp_alloc *h, lua_Alloc f, void *ud)
{
  mp_events_init(&h->events);
  mp_tags_init(&h->tags);
  mp_held_init(&h->kept);
  h->allocf = f;
  h->allocd = ud;
  h->direct = mp_allocator_of(f);
  if (f != NULL) retire(h);
}

void mp_alloc_close(mp_alloc *h)
{
  retire(h);
  mp_live_free(&h->live);
  mp_tags_free(&h->tags);
  mp_samples_free(&h->samples);
  mp_events_free(&h->events);
  mp_held_free(&h->kept);
}
