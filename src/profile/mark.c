/* SPDX-License-Identifier: MIT */
/*
** See profile/mark.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "profile/mark.h"
#include "sample/objects.h"

/* Samples that are lost unless a safepoint is reached. */
static double count_waiting(const mp_samples *s)
{
  double n = 0;
  uint32_t id;
  for (id = s->waiting; id != 0; id = s->list[id].next) n++;
  return n;
}

#define ENDS	"CPU time ends at the last sample: afterwards "

/* CPU seconds that the samples stand for. */
static double cpu_covered(mp_profile *p)
{
  static const char *const notes[] = {
    ENDS "no tick came, and the reason is not known",
    ENDS "another profiler took the timer",
    ENDS "the program blocked SIGURG, the signal of the timer",
    ENDS "C code never returned"
  };
  double now = p->span.ended ? p->span.cpu1 : mp_cpu_time(&p->cpu);
  if (p->cpu.samples == 0 || !mp_cpu_lost(&p->cpu, now)) return now;
  mp_notes_add(&p->notes, notes[mp_cpu_why(&p->cpu)]);
  return p->cpu.seen;
}

mp_sums mp_sums_now(mp_profile *p)
{
  mp_alloc *h = &p->heap;
  int i;
  double inuse = (double)mp_alloc_inuse(h);
  double bytes = (double)mp_alloc_bytes(h);
  mp_sums s = {
    mp_span_wall(&p->span), cpu_covered(p), (double)p->cpu.samples,
    (double)mp_alloc_allocs(h), bytes, (double)h->frees,
    bytes - (inuse - (double)h->inuse_start),
    (double)h->reallocs, (double)h->realloc_bytes, (double)h->realloc_freed,
    (double)h->taken,
    (double)(h->dropped + p->cpu.dropped) + count_waiting(&h->samples),
    (double)p->capture.cut, (double)h->cycles, (double)h->looks,
    (double)h->stopped, { 0 }, { 0 }
  };
  for (i = 0; i < MP_NTYPES; i++) {
    s.type_objects[i] = (double)h->by_type[i].objects;
    s.type_bytes[i] = (double)h->by_type[i].bytes;
  }
  return s;
}

static void copy_rows(mp_mark *m, const mp_counts *counts)
{
  uint32_t i;
  m->nrows = counts->nrows;
  for (i = 1; i <= m->nrows; i++) {
    const mp_row *r = &counts->rows[i];
    m->rows[i] = (mp_marked){
      r->cpu, r->alloc_objects, r->alloc_bytes, r->alloc_variance,
      r->temp_objects, r->temp_bytes, r->calls,
      mp_counts_gone_objects(r), mp_counts_gone_bytes(r)
    };
  }
}

static void copy_events(mp_mark *m, const mp_events *events)
{
  m->nevents = events->count;
  if (m->nevents > 0)
    memcpy(m->events, events->list, m->nevents * sizeof(*m->events));
}

bool mp_mark_take(mp_mark *m, mp_profile *p)
{
  /* An object that is still to change its row would count in two windows. */
  if (!p->span.ended) mp_objects_look(&p->heap);
  m->rows = mp_calloc((size_t)p->counts.nrows + 1, sizeof(*m->rows));
  m->events = mp_calloc((size_t)p->heap.events.count + 1, sizeof(*m->events));
  if (m->rows == NULL || m->events == NULL) {
    mp_mark_free(m);
    return false;
  }
  m->sums = mp_sums_now(p);
  m->wall0 = p->span.wall0;
  copy_rows(m, &p->counts);
  copy_events(m, &p->heap.events);
  return true;
}

void mp_mark_free(mp_mark *m)
{
  mp_free(m->rows);
  mp_free(m->events);
  memset(m, 0, sizeof(*m));
}

const mp_mark *mp_mark_of(const mp_mark *m, const mp_profile *p)
{
  return m != NULL && m->wall0 == p->span.wall0 ? m : NULL;
}

/* -- Differences --------------------------------------------------------- */

/* A sample may have gone to another row since, or been found after all. */
static double since(double then, double now)
{
  return now > then ? now - then : 0;
}

mp_sums mp_mark_sums(const mp_mark *from, const mp_mark *to)
{
  mp_sums s = to->sums;
  const double *then;
  double *now = (double *)(void *)&s;
  size_t i;
  if (from == NULL) return s;
  then = (const double *)(const void *)&from->sums;
  for (i = 0; i < sizeof(s) / sizeof(double); i++)
    now[i] = since(then[i], now[i]);
  return s;
}

void mp_mark_row(const mp_mark *from, const mp_mark *to, uint32_t i, mp_row *r)
{
  static const mp_marked none;
  const mp_marked *then = from != NULL && i <= from->nrows ? &from->rows[i] :
			  &none;
  const mp_marked *now = i <= to->nrows ? &to->rows[i] : then;
  r->cpu = since(then->cpu, now->cpu);
  r->alloc_objects = since(then->alloc_objects, now->alloc_objects);
  r->alloc_bytes = since(then->alloc_bytes, now->alloc_bytes);
  r->alloc_variance = since(then->alloc_variance, now->alloc_variance);
  r->temp_objects = since(then->temp_objects, now->temp_objects);
  r->temp_bytes = since(then->temp_bytes, now->temp_bytes);
  r->calls = since(then->calls, now->calls);
  r->start_objects = r->inuse_objects - r->alloc_objects +
		     since(then->gone_objects, now->gone_objects);
  r->start_bytes = r->inuse_bytes - r->alloc_bytes +
		   since(then->gone_bytes, now->gone_bytes);
}

static uint64_t more(uint64_t then, uint64_t now)
{
  return now > then ? now - then : 0;
}

void mp_mark_event(const mp_mark *from, const mp_mark *to, uint32_t i,
		   mp_event *e)
{
  static const mp_event none;
  const mp_event *then = from != NULL && i < from->nevents ? &from->events[i] :
			 &none;
  const mp_event *now = i < to->nevents ? &to->events[i] : then;
  e->count = more(then->count, now->count);
  e->alloc_bytes = more(then->alloc_bytes, now->alloc_bytes);
  e->free_bytes = more(then->free_bytes, now->free_bytes);
}
