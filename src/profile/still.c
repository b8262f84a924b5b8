/* SPDX-License-Identifier: MIT */
/*
** See profile/still.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "profile/still.h"

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

static bool count_survived(mp_still *s, const mp_alloc *h)
{
  if (!h->wants_leaks) return true;
  s->survived = mp_calloc((size_t)s->counts.nrows + 1, sizeof(*s->survived));
  if (s->survived == NULL) return false;
  mp_survivors_count(h, s->survived, s->counts.nrows);
  return true;
}

void mp_still_free(mp_still *s)
{
  mp_free(s->counts.rows);
  mp_free(s->events.list);
  mp_free(s->survived);
  memset(s, 0, sizeof(*s));
}

bool mp_still_take(mp_still *s, mp_profile *p)
{
  memset(s, 0, sizeof(*s));
  if (mp_alloc_sees(&p->heap)) mp_alloc_watch(&p->heap, 0);
  if (!copy_rows(&s->counts, &p->counts) ||
      !copy_events(&s->events, &p->heap.events) ||
      !count_survived(s, &p->heap)) {
    mp_still_free(s);
    return false;
  }
  s->sums = mp_sums_now(p);
  s->live = mp_alloc_live(&p->heap);
  s->peak = p->heap.peak;
  return true;
}

/* -- The numbers for a snapshot ------------------------------------------- */

const mp_counts *mp_scope_counts(const mp_scope *s, const mp_profile *p)
{
  return s->still != NULL ? &s->still->counts : &p->counts;
}

const mp_events *mp_scope_events(const mp_scope *s, const mp_profile *p)
{
  return s->still != NULL ? &s->still->events : &p->heap.events;
}

mp_sums mp_scope_sums(const mp_scope *s, mp_profile *p)
{
  if (s->to != NULL) return mp_mark_sums(s->from, s->to);
  return s->still != NULL ? s->still->sums : mp_sums_now(p);
}

size_t mp_scope_live(const mp_scope *s, const mp_profile *p)
{
  return s->still != NULL ? s->still->live : mp_alloc_live(&p->heap);
}

size_t mp_scope_peak(const mp_scope *s, const mp_profile *p)
{
  return s->still != NULL ? s->still->peak : p->heap.peak;
}
