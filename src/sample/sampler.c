/* SPDX-License-Identifier: MIT */
/*
** See sample/alloc.h and sample/sampler.h.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/seed.h"
#include "sample/sampler.h"

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

bool mp_alloc_frozen(const mp_alloc *h) { return h->frozen; }

bool mp_alloc_pause(mp_alloc *h)
{
  if (h->frozen) return false;
  mp_alloc_freeze(h);
  return true;
}

void mp_alloc_resume(mp_alloc *h, bool paused)
{
  if (paused) mp_alloc_thaw(h);
}

bool mp_alloc_counts(const mp_alloc *h)
{
  return !h->frozen && !h->retired;
}

void mp_alloc_lose(mp_alloc *h)
{
  if (!h->frozen) mp_alloc_freeze(h);
  h->capture->anchor = NULL;
  h->capture->mate = NULL;
  h->capture->zonetable = NULL;
  h->owner.lost(h->owner.data);
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
    h->owner.tick(h->owner.data, true);
    h->stamp += h->stamp != 0;
    if (h->wants.leaks) mp_alloc_flip(h);
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

static bool judged(const mp_alloc *h, const mp_sample *s)
{
  uint64_t done = h->cycles;
  if (h->collected) return true;
  if (!mp_alloc_sees(h)) return false;
  if (done > 0 && mp_vm_phase(&h->vm) == 's') done--;
  return (int32_t)((uint32_t)done - s->cycle) > 0;
}

void mp_alloc_each_survivor(const mp_alloc *h,
			    void (*f)(void *data, const mp_sample *s),
			    void *data)
{
  uint32_t i;
  for (i = 1; i <= h->samples.count; i++) {
    const mp_sample *s = &h->samples.list[i];
    if (s->size != 0 && !s->waiting && judged(h, s)) f(data, s);
  }
}

void mp_alloc_collecting(mp_alloc *h) { h->collected = true; }

/* All memory in use is held: a record at once. */
void mp_alloc_collected(mp_alloc *h)
{
  h->kept.due = 0;
  mp_alloc_flip(h);
  mp_held_end(&h->kept);
}

bool mp_alloc_was_collected(const mp_alloc *h) { return h->collected; }

const mp_held *mp_alloc_survivors(mp_alloc *h)
{
  if (mp_alloc_sees(h) && mp_vm_phase(&h->vm) != 's') mp_held_end(&h->kept);
  return &h->kept;
}

/* -- What was counted ---------------------------------------------------- */

static uint64_t count_waiting(const mp_samples *s)
{
  uint64_t n = 0;
  uint32_t id;
  for (id = s->waiting; id != 0; id = s->list[id].next) n++;
  return n;
}

mp_alloc_sums mp_alloc_totals(mp_alloc *h)
{
  size_t inuse = mp_alloc_inuse(h);
  return (mp_alloc_sums){
    mp_alloc_bytes(h), mp_alloc_allocs(h), h->frees,
    h->reallocs, h->realloc_bytes, h->realloc_freed,
    h->cycles, h->looks, h->stopped,
    h->taken, h->dropped, count_waiting(&h->samples),
    inuse, h->inuse_start, h->by_type
  };
}

uint64_t mp_alloc_cycles(const mp_alloc *h) { return h->cycles; }
size_t mp_alloc_peak(const mp_alloc *h) { return h->peak; }
const mp_alloc_options *mp_alloc_wants(const mp_alloc *h) { return &h->wants; }
double mp_alloc_period(const mp_alloc *h)
{
  return h->exact ? 1 : h->period.mean;
}
bool mp_alloc_adapts(const mp_alloc *h) { return h->period.adaptive; }
const mp_events *mp_alloc_events(const mp_alloc *h) { return &h->events; }
void mp_alloc_at(mp_alloc *h, double seconds) { h->seconds = seconds; }
mp_vm *mp_alloc_vm(mp_alloc *h) { return &h->vm; }

bool mp_alloc_sees(const mp_alloc *h)
{
  return h->vm.proved && h->capture->anchor != NULL;
}

bool mp_alloc_installed(const mp_alloc *h) { return h->installed; }

lua_Alloc mp_alloc_original(const mp_alloc *h, void **ud)
{
  *ud = h->allocd;
  return h->allocf;
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

mp_coroutines *mp_alloc_coroutines(const mp_alloc *h) { return h->coroutines; }

mp_alloc *mp_alloc_new(void)
{
  size_t size = (sizeof(mp_alloc) + MP_ALLOC_ALIGN - 1) & ~(MP_ALLOC_ALIGN - 1);
  mp_alloc *h = aligned_alloc(MP_ALLOC_ALIGN, size);
  return h != NULL ? memset(h, 0, size) : NULL;
}

void mp_alloc_free(mp_alloc *h) { free(h); }

size_t mp_alloc_memory(void) { return sizeof(mp_alloc); }

void mp_alloc_init(mp_alloc *h, const mp_alloc_owner *owner)
{
  lua_Alloc f = h->allocf;
  void *ud = h->allocd;
  memset(h, 0, sizeof(*h));
  mp_events_init(&h->events);
  mp_tags_init(&h->tags);
  mp_held_init(&h->kept);
  h->owner = *owner;
  h->capture = owner->capture;
  h->cpu = owner->cpu;
  h->allocf = f;
  h->allocd = ud;
  h->direct = mp_allocator_of(f);
  if (f != NULL) retire(h);
}

void mp_alloc_set(mp_alloc *h, const mp_alloc_options *options)
{
  h->wants = *options;
  h->exact = options->period == 1;
  h->wants.types |= !h->exact;
  mp_period_init(&h->period, options->period, mp_seed());
}

bool mp_alloc_open(mp_alloc *h, size_t limit)
{
  h->events.limit = limit;
  return mp_live_init(&h->live, h->exact);
}

void mp_alloc_close(mp_alloc *h)
{
  retire(h);
  mp_coroutines_free(h->coroutines);
  h->coroutines = h->capture->coroutines = NULL;
  h->cosize = 0;
  mp_live_free(&h->live);
  mp_tags_free(&h->tags);
  mp_samples_free(&h->samples);
  mp_events_free(&h->events);
  mp_held_free(&h->kept);
}
