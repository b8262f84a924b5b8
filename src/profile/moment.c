/* SPDX-License-Identifier: MIT */
/*
** See profile/moment.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "profile/moment.h"

/* -- Sums ----------------------------------------------------------------- */

#define ENDS	"CPU time ends at the last sample: afterwards "

#define ZONED	"a zone was open while no Lua function ran: a coroutine that " \
	"yields in a zone leaves it open for others; labels follow it"

#define MISSED	"more coroutines than are known (1,048,576), or no memory " \
	"for them: those beyond are not seen to wait, and have no labels"

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

/* Bytes that were freed. What an allocator that the program has put over the
** hook gives by itself is in use but was not counted. */
static double freed(const mp_alloc_sums *a)
{
  double n = (double)a->bytes - ((double)a->inuse - (double)a->inuse_start);
  return n > 0 ? n : 0;
}

static mp_sums sums_now(mp_profile *p)
{
  const mp_alloc_sums a = mp_alloc_totals(p->heap);
  int i;
  mp_sums s = {
    mp_span_wall(&p->span), cpu_covered(p), (double)p->cpu.samples,
    (double)a.allocs, (double)a.bytes, (double)a.frees, freed(&a),
    (double)a.reallocs, (double)a.realloc_bytes, (double)a.realloc_freed,
    (double)a.taken, (double)(a.dropped + p->cpu.dropped + a.waiting),
    (double)p->capture.cut, (double)a.cycles, (double)a.looks,
    (double)a.stopped, p->waits.time, { 0 }, { 0 }
  };
  if (p->waits.zoned) mp_notes_add(&p->notes, ZONED);
  if (p->waits.missed) mp_notes_add(&p->notes, MISSED);
  for (i = 0; i < MP_NTYPES; i++) {
    s.type_objects[i] = (double)a.by_type[i].objects;
    s.type_bytes[i] = (double)a.by_type[i].bytes;
  }
  return s;
}

/* -- A moment ------------------------------------------------------------- */

/* Copies n elements. False: no memory. */
static bool copy(void *to, const void *from, size_t n, size_t size)
{
  void *p = mp_malloc(n * size + 1);
  if (p == NULL) return false;
  if (n > 0) memcpy(p, from, n * size);
  memcpy(to, &p, sizeof(p));
  return true;
}

static bool copy_rows(mp_counts *to, const mp_counts *from)
{
  size_t n = from->rows != NULL ? (size_t)from->nrows + 1 : 0;
  if (!copy(&to->rows, from->rows, n, sizeof(*to->rows))) return false;
  to->nrows = from->nrows;
  to->epoch = from->epoch;
  return true;
}

static bool copy_events(mp_events *to, const mp_events *from)
{
  if (!copy(&to->list, from->list, from->count, sizeof(*to->list)))
    return false;
  to->count = from->count;
  return true;
}

static bool count_survived(mp_moment *m, const mp_alloc *h)
{
  m->survived = mp_calloc((size_t)m->counts.nrows + 1, sizeof(*m->survived));
  if (m->survived == NULL) return false;
  mp_survivors_count(h, m->survived, m->counts.nrows);
  return true;
}

bool mp_moment_take(mp_moment *m, mp_profile *p)
{
  /* An object that is still to change its row would count in two windows. */
  if (!p->span.ended) mp_alloc_finish(p->heap);
  memset(m, 0, sizeof(*m));
  if (!copy_rows(&m->counts, &p->counts) ||
      !copy_events(&m->events, mp_alloc_events(p->heap))) {
    mp_moment_free(m);
    return false;
  }
  m->sums = sums_now(p);
  m->inuse = mp_alloc_totals(p->heap).inuse;
  m->live = mp_alloc_live(p->heap);
  m->peak = mp_alloc_peak(p->heap);
  m->wall0 = p->span.wall0;
  return true;
}

bool mp_moment_take_at_rest(mp_moment *m, mp_profile *p)
{
  if (mp_alloc_sees(p->heap)) mp_alloc_watch(p->heap, 0);
  mp_waits_count(&p->waits, &p->capture);
  if (!mp_moment_take(m, p)) return false;
  if (!mp_alloc_wants(p->heap)->leaks || count_survived(m, p->heap))
    return true;
  mp_moment_free(m);
  return false;
}

void mp_moment_free(mp_moment *m)
{
  mp_free(m->counts.rows);
  mp_free(m->events.list);
  mp_free(m->survived);
  memset(m, 0, sizeof(*m));
}

const mp_moment *mp_moment_of(const mp_moment *m, const mp_profile *p)
{
  return m != NULL && m->wall0 == p->span.wall0 ? m : NULL;
}

/* -- The numbers for a snapshot ------------------------------------------- */

const mp_counts *mp_scope_counts(const mp_scope *s, const mp_profile *p)
{
  return s->to != NULL ? &s->to->counts : &p->counts;
}

const mp_events *mp_scope_events(const mp_scope *s, const mp_profile *p)
{
  return s->to != NULL ? &s->to->events : mp_alloc_events(p->heap);
}

/* A sample may have gone to another row since, or been found after all. */
static double since(double then, double now)
{
  return now > then ? now - then : 0;
}

mp_sums mp_scope_sums(const mp_scope *s, mp_profile *p)
{
  mp_sums sums = s->to != NULL ? s->to->sums : sums_now(p);
  double *now = (double *)(void *)&sums;
  size_t i;
  if (!s->window || s->from == NULL) return sums;
  for (i = 0; i < sizeof(sums) / sizeof(double); i++)
    now[i] = since(((const double *)(const void *)&s->from->sums)[i], now[i]);
  return sums;
}

size_t mp_scope_inuse(const mp_scope *s, mp_profile *p)
{
  return s->to != NULL ? s->to->inuse : mp_alloc_totals(p->heap).inuse;
}

size_t mp_scope_live(const mp_scope *s, const mp_profile *p)
{
  return s->to != NULL ? s->to->live : mp_alloc_live(p->heap);
}

size_t mp_scope_peak(const mp_scope *s, const mp_profile *p)
{
  return s->to != NULL ? s->to->peak : mp_alloc_peak(p->heap);
}

void mp_scope_reduce_row(const mp_scope *s, uint32_t i, mp_row *r)
{
  const mp_moment *from = s->from;
  const mp_row none = { .stack = 0 };
  const mp_row *then = from != NULL && i <= from->counts.nrows ?
		       &from->counts.rows[i] : &none;
  double objects = mp_counts_gone_objects(r), bytes = mp_counts_gone_bytes(r);
  if (!s->window) return;
  r->cpu = since(then->cpu, r->cpu);
  r->cpu_squares = since(then->cpu_squares, r->cpu_squares);
  r->alloc_objects = since(then->alloc_objects, r->alloc_objects);
  r->alloc_bytes = since(then->alloc_bytes, r->alloc_bytes);
  r->alloc_variance = since(then->alloc_variance, r->alloc_variance);
  r->temp_objects = since(then->temp_objects, r->temp_objects);
  r->temp_bytes = since(then->temp_bytes, r->temp_bytes);
  r->calls = since(then->calls, r->calls);
  r->waited = since(then->waited, r->waited);
  r->waited_variance = since(then->waited_variance, r->waited_variance);
  r->blocked = since(then->blocked, r->blocked);
  r->blocked_variance = since(then->blocked_variance, r->blocked_variance);
  r->start_objects = r->inuse_objects - r->alloc_objects +
		     since(mp_counts_gone_objects(then), objects);
  r->start_bytes = r->inuse_bytes - r->alloc_bytes +
		   since(mp_counts_gone_bytes(then), bytes);
}

static uint64_t more(uint64_t then, uint64_t now)
{
  return now > then ? now - then : 0;
}

void mp_scope_reduce_event(const mp_scope *s, uint32_t i, mp_event *e)
{
  const mp_event *then;
  if (!s->window || s->from == NULL || i >= s->from->events.count) return;
  then = &s->from->events.list[i];
  e->count = more(then->count, e->count);
  e->alloc_bytes = more(then->alloc_bytes, e->alloc_bytes);
  e->free_bytes = more(then->free_bytes, e->free_bytes);
}
