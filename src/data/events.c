/* SPDX-License-Identifier: MIT */
/*
** Reallocations and frees. See data/events.h.
*/
#include "config.h"

#include <string.h>

#include "data/events.h"
#include "data/mem.h"

void mp_events_init(mp_events *e)
{
  memset(e, 0, sizeof(*e));
}

static bool has_keys(const mp_event *ev, mp_eventkind kind, uint32_t at,
		     uint32_t origin)
{
  return ev->at == at && ev->origin == origin && ev->kind == kind;
}

/* The index + 1 of the event of these keys, made if new. 0: no memory, or the
** limit. */
static __attribute__((noinline)) uint32_t find_event(mp_events *e,
						     mp_eventkind kind,
						     uint32_t at,
						     uint32_t origin)
{
  uint64_t h = mp_mix(mp_mix(mp_mix(7, at), origin), kind);
  uint32_t i;
  for (; (i = mp_map_get(&e->map, h)) != 0; h = mp_mix(h, 1))
    if (has_keys(&e->list[i - 1], kind, at, origin)) return i;
  if (e->limit != 0 && mp_mem_after(e->count, e->cap, sizeof(*e->list)) +
      mp_map_after(&e->map, 1) + e->caplast * sizeof(*e->last) > e->limit)
    return 0;
  if (!mp_mem_room(&e->list, e->count, &e->cap, sizeof(*e->list)) ||
      !mp_map_put(&e->map, h, e->count + 1)) return 0;
  e->list[e->count] = (mp_event){ 0, 0, 0, at, origin, kind };
  __atomic_store_n(&e->count, e->count + 1, __ATOMIC_RELEASE);
  return e->count;
}

/* Makes room for e->last[i]. False: no memory, or half of the limit. */
static __attribute__((noinline)) bool more_last(mp_events *e, uint32_t i)
{
  uint32_t n = e->caplast;
  if (e->limit != 0 && mp_mem_after(i, n, sizeof(*e->last)) > e->limit / 2)
    return false;
  if (!mp_mem_room(&e->last, i, &e->caplast, sizeof(*e->last)))
    return false;
  memset(e->last + n, 0, (e->caplast - n) * sizeof(*e->last));
  return true;
}

/* The event of these keys, made if new. NULL: no memory, or the limit. Nearly
** all reallocations of what a row has allocated happen in one place. */
static inline mp_event *event_get(mp_events *e, mp_eventkind kind, uint32_t at,
				  uint32_t origin)
{
  uint32_t i = origin * 2 + kind, other = 0, *last = &other;
  if (i < e->caplast || more_last(e, i)) last = &e->last[i];
  if (*last == 0 || !has_keys(&e->list[*last - 1], kind, at, origin))
    *last = find_event(e, kind, at, origin);
  return *last != 0 ? &e->list[*last - 1] : NULL;
}

bool mp_events_add(mp_events *e, mp_eventkind kind, uint32_t at,
		   uint32_t origin, size_t alloc, size_t freed)
{
  mp_event *ev = event_get(e, kind, at, origin);
  if (ev == NULL) return false;
  ev->count++;
  ev->alloc_bytes += alloc;
  ev->free_bytes += freed;
  return true;
}

bool mp_events_move(mp_events *e, uint32_t from, uint32_t to, uint32_t origin,
		    size_t alloc, size_t freed)
{
  mp_event *ev;
  ev = event_get(e, MP_REALLOC, from, origin);
  if (ev == NULL || ev->count == 0) return true;  /* It was not counted. */
  if (!mp_events_add(e, MP_REALLOC, to, origin, alloc, freed)) return false;
  ev = event_get(e, MP_REALLOC, from, origin);  /* The list may have moved. */
  ev->count--;
  ev->alloc_bytes -= alloc;
  ev->free_bytes -= freed;
  return true;
}

bool mp_events_settle(mp_events *e, uint32_t row)
{
  uint32_t i, n = e->count;
  for (i = 0; i < n; i++) {
    mp_event was = e->list[i], *ev;
    if (was.kind != MP_REALLOC || was.at != 0 || was.count == 0) continue;
    if ((ev = event_get(e, MP_REALLOC, row, was.origin)) == NULL) return false;
    ev->count += was.count;
    ev->alloc_bytes += was.alloc_bytes;
    ev->free_bytes += was.free_bytes;
    e->list[i] = (mp_event){ 0, 0, 0, 0, was.origin, MP_REALLOC };
  }
  return true;
}

void mp_events_free(mp_events *e)
{
  size_t limit = e->limit;
  mp_free(e->list);
  mp_free(e->last);
  mp_map_free(&e->map);
  mp_events_init(e);
  e->limit = limit;
}
