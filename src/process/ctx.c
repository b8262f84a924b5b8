/* SPDX-License-Identifier: MIT */
/*
** See process/ctx.h.
*/
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "data/clock.h"
#include "data/lock.h"
#include "heapwalk/walk.h"
#include "native/native.h"
#include "native/rows.h"
#include "process/ctx.h"
#include "profile/memory.h"
#include "profile/point.h"

/* The heap's: called inside the allocator. The thread is looked for where it
** may be another one, and the timer where it may have been lost: at the first
** sample of each jiffy, as a new thread can have the handle of one that has
** ended. Of the samples in one jiffy only the
** first has the time read; a collection's beginning has its exact time. */
static void tick(void *data, bool cycle)
{
  mp_ctx *c = data;
  uint64_t now = mp_clock_jiffy();
  pthread_t self = pthread_self();
  bool seen = now == c->jiffy && pthread_equal(self, c->thread);
  if (seen && !cycle) return;
  c->jiffy = now;
  c->thread = self;
  if (!seen) {
    mp_cpu_here(&c->profile.cpu);
    mp_cpu_look(&c->profile.cpu);
  }
  mp_alloc_look(c->profile.heap);
  mp_point_take(&c->profile);
  mp_waits_look(&c->profile.waits, &c->profile.capture);
  if (c->watch != NULL) c->watch(c);
}

/* The heap's, likewise. */
static void lost(void *data)
{
  mp_ctx *c = data;
  mp_waits_drop(&c->profile.waits, &c->profile.capture);
  mp_cpu_lose(&c->profile.cpu);
  mp_span_end(&c->profile.span, mp_cpu_time(&c->profile.cpu));
  mp_notes_add(&c->profile.notes, "the profile ended early: the program took "
	       "the profiler's own objects away");
}

static void refused(void *data, size_t size)
{
  mp_ctx *c = data;
  if (c->refused != NULL) c->refused(c, size);
}

static void large(void *data, size_t size)
{
  mp_ctx *c = data;
  if (c->large != NULL) c->large(c, size);
}

/* A context of zeros; NULL: no memory. */
static mp_ctx *create(void)
{
  mp_ctx *c = calloc(1, sizeof(*c));
  if (c == NULL) return NULL;
  c->profile.heap = mp_alloc_new();
  if (c->profile.heap != NULL) return c;
  free(c);
  return NULL;
}

mp_ctx *mp_ctx_new(mp_ctx *old)
{
  static const mp_addition additions[] = {
    mp_nativerows_add, mp_heapwalk_add, NULL
  };
  mp_ctx *c = old != NULL ? old : create();
  const mp_alloc_owner owner = { NULL, NULL, tick, lost, refused, large, c };
  mp_alloc *heap;
  if (c == NULL) return NULL;
  heap = c->profile.heap;
  memset(c, 0, sizeof(*c));
  c->profile.heap = heap;
  mp_profile_init(&c->profile, &owner);
  c->profile.additions = additions;
  mp_screen_init(&c->screen);
  return c;
}

static atomic_bool kept;

void mp_ctx_keep_all(void)
{
  kept = true;
}

static void drop_shared(mp_ctx *c)
{
  if (c->heir.estate != NULL)
    munmap(c->heir.estate, sizeof(*c->heir.estate));
  c->heir.estate = NULL;
}

void mp_ctx_share(mp_ctx *c)
{
  void *p = mmap(NULL, sizeof(*c->heir.estate), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  drop_shared(c);
  if (p != MAP_FAILED) c->heir.estate = p;
}

void mp_ctx_no_past(mp_ctx *c)
{
  mp_triggers *s = &c->triggers;
  while (s->nrecent > 0) mp_moment_free(&s->recent[--s->nrecent]);
  mp_baseline_free(&s->base);
  s->based = false;
}

void mp_ctx_end(mp_ctx *c)
{
  if (kept) return;
  mp_ctx_no_past(c);
  mp_plan_free(&c->plan, c->report.state);
  mp_report_close(&c->report);
  mp_screen_close(&c->screen);
  mp_heapwalk_drop(&c->profile);
  mp_memory_drop(&c->profile);
  mp_moment_free(&c->window);
  mp_native_forget(&c->profile.capture);
  mp_profile_close(&c->profile);
  drop_shared(c);
}

void mp_ctx_hurry(mp_ctx *c)
{
  if (!c->background.needed) c->background.hurry = true;
}

void mp_ctx_await(mp_ctx *c)
{
  mp_ctx_hurry(c);
  while (c->final.read) mp_clock_pause(1);
}

#define BURIED	32		/* Contexts of VMs that are being closed. */

void mp_ctx_bury(mp_ctx *c)
{
  static mp_ctx *buried[BURIED];
  static unsigned next;
  mp_ctx *old;
  if (c == NULL || kept) return;
  mp_lock();
  old = buried[next % BURIED];
  buried[next++ % BURIED] = c;
  mp_unlock();
  if (old != NULL) mp_alloc_free(old->profile.heap);
  free(old);
}

/* -- The list ------------------------------------------------------------ */

static _Atomic(mp_ctx *) first;	/* Handlers look at it. */

mp_ctx *mp_ctx_list(void) { return first; }

void mp_ctx_enlist(mp_ctx *c)
{
  mp_lock();
  c->next = first;
  first = c;
  mp_unlock();
}

void mp_ctx_delist(mp_ctx *c)
{
  mp_ctx *p;
  mp_lock();
  p = first;
  if (p == c) first = c->next;
  else
    while (p != NULL && p->next != c) p = p->next;
  if (p != NULL && p != c) p->next = c->next;
  mp_unlock();
}
