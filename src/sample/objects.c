/* SPDX-License-Identifier: MIT */
/*
** See sample/objects.h.
*/
#include "config.h"

#include "sample/objects.h"

void mp_objects_temporary(mp_alloc *h, uint32_t row, double objects,
			  size_t size)
{
  mp_row *r = &h->capture->counts->rows[row];
  r->temp_objects += objects;
  r->temp_bytes += objects * (double)size;
}

/* The sweep frees an object that existed when the sweep began: it was dead
** then. */
static void count_swept(mp_alloc *h, const mp_sample *s)
{
  if (h->vm.proved && (int32_t)((uint32_t)h->cycles - s->cycle) > 0 &&
      mp_vm_collecting(&h->vm))
    mp_held_swept(&h->kept, s->row, s->objects, s->size);
}

uint32_t mp_objects_forget(mp_alloc *h, uint32_t id, size_t size)
{
  mp_sample *s;
  uint32_t row;
  if (h->rows_only) {
    mp_counts_freed(h->capture->counts, id, 1, size);
    return id;
  }
  s = &h->samples.list[id];
  if (s->waiting) {  /* For its stack: it is counted and freed later. */
    s->freed = 1;
    return 0;
  }
  row = s->row;
  if (row != MP_ROW_LOST) {
    mp_counts_freed(h->capture->counts, row, s->objects, s->size);
    if (h->vm.proved && (uint32_t)h->cycles - s->cycle <= 1)
      mp_objects_temporary(h, row, s->objects, s->size);
    if (h->wants.leaks) count_swept(h, s);
  }
  mp_samples_release(&h->samples, id);
  return row != MP_ROW_LOST ? row : 0;
}

/* Forgets an object that was not freed. */
static void lose(mp_alloc *h, uint32_t id, size_t size)
{
  uint32_t row = mp_objects_forget(h, id, size);
  if (row != 0 && h->wants.events)
    mp_counts_lost(h->capture->counts, row, size);
}

bool mp_objects_replaced(mp_alloc *h, uint32_t old, uint32_t id, size_t size)
{
  if (old == MP_LIVE_NOMEM) lose(h, id, size);
  /* Two objects in one cell: only a record has the older one's size. */
  else if (!h->rows_only) lose(h, old, h->samples.list[old].size);
  h->dropped++;
  return old != MP_LIVE_NOMEM;
}

uint32_t mp_objects_freed(mp_alloc *h, void *ptr, size_t osize)
{
  uint32_t id;
  if (ptr != NULL && ptr == h->types.unknown.block) mp_objects_look_last(h);
  if (h->tagged) return mp_objects_forget_row(h, ptr, osize);
  id = mp_live_take(&h->live, ptr);
  if (id == 0) return 0;
  mp_probe_free(ptr);
  return mp_objects_forget(h, id, osize);
}

uint32_t mp_objects_id(const mp_alloc *h, const void *p, size_t size)
{
  return h->tagged ? mp_tags_get(&h->tags, p, size).id :
	 mp_live_get(&h->live, p);
}

size_t mp_alloc_live(const mp_alloc *h)
{
  return h->tagged ? h->tags.count : mp_live_count(&h->live);
}

size_t mp_alloc_tagging(const mp_alloc *h)
{
  return h->tags.count * MP_TAGS_EXTRA;
}

bool mp_alloc_has_records(const mp_alloc *h) { return !h->rows_only; }

bool mp_alloc_find(const mp_alloc *h, const void *p, size_t size, mp_sample *s)
{
  uint32_t id = mp_objects_id(h, p, size);
  if (id == 0) return false;
  if (h->rows_only) *s = (mp_sample){ .objects = 1, .size = size, .row = id };
  else *s = h->samples.list[id];
  return !s->waiting && s->row != MP_ROW_LOST;
}

/* A call of the function for each object. */
typedef struct visit {
  const mp_alloc *h;
  void (*f)(void *data, const void *addr, const mp_sample *s);
  void *data;
} visit;

static void see(void *data, const void *addr, uint32_t id)
{
  const visit *v = data;
  const mp_sample *s = &v->h->samples.list[id];
  if (id <= v->h->samples.count && !s->waiting && s->row != MP_ROW_LOST)
    v->f(v->data, addr, s);
}

void mp_alloc_each(const mp_alloc *h,
		   void (*f)(void *data, const void *addr, const mp_sample *s),
		   void *data)
{
  visit v = { h, f, data };
  if (!h->rows_only) mp_live_each(&h->live, see, &v);
}

/* The object, which has no record, counts in another row now. */
static void set_row(mp_alloc *h, void *p, size_t size, uint32_t row)
{
  if (h->tagged)
    mp_tags_put(&h->tags, p, size,
		(mp_tag){ row, mp_tags_get(&h->tags, p, size).stamp });
  else
    mp_live_put(&h->live, p, row);
}

/* -- Types --------------------------------------------------------------- */

/* Counts an allocation as one of another type. */
static void count_as(mp_alloc *h, uint8_t from, uint8_t to, size_t size)
{
  h->by_type[from].objects--;
  h->by_type[from].bytes -= size;
  h->by_type[to].objects++;
  h->by_type[to].bytes += size;
}

/* The type of a block has become known: moves it to the row with that type.
** before: the type that its place had. */
static void set_type(mp_alloc *h, const mp_unknown *u, uint8_t before,
		     uint8_t type)
{
  mp_counts *counts = h->capture->counts;
  mp_sample *s = h->rows_only ? NULL : &h->samples.list[u->id];
  uint32_t from = s ? s->row : mp_objects_id(h, u->block, u->size), to;
  mp_row *r;
  if (type == MP_TYPE_UNKNOWN || from == 0 || from == MP_ROW_LOST ||
      (s && s->waiting))
    return;
  if (h->wants.events)
    count_as(h, mp_objects_type(h, before, from), type, u->size);
  type = mp_capture_type(h->capture, type);
  r = &counts->rows[from];
  if (r->type == type) return;
  mp_capture_enter(h->capture);
  to = mp_counts_traced(counts, r->stack, r->zone, r->state, type, r->trace);
  mp_capture_leave(h->capture);
  if (to == 0) return;
  mp_counts_move(counts, from, to, s ? s->objects : 1, u->size, h->born);
  if (h->asked.counted && !mp_events_move(&h->events, from, to,
					  h->asked.origin, u->size,
					  h->asked.size))
    h->dropped++;
  if (s) s->row = to;
  else set_row(h, u->block, u->size, to);
}

void mp_objects_look_now(mp_alloc *h)
{
  mp_unknown u = h->types.unknown;
  uint8_t before = mp_type_of(u.site);
  mp_type type;
  if (mp_type_look(&h->types, &h->vm, &type))
    set_type(h, &u, before, (uint8_t)type);
}

void mp_objects_look_last(mp_alloc *h)
{
  mp_unknown u = h->types.unknown;
  uint8_t before = mp_type_of(u.site);
  if (u.block != NULL)
    set_type(h, &u, before, (uint8_t)mp_type_look_last(&h->types, &h->vm));
}

void mp_alloc_finish(mp_alloc *h) { mp_objects_look(h); }

/* -- Samples that waited ------------------------------------------------- */

void mp_alloc_settle(mp_alloc *h, lua_State *L, int state)
{
  uint32_t id = h->samples.waiting, next, row;
  if (id == 0) return;
  h->samples.waiting = 0;
  row = mp_capture_row(h->capture, L, state);
  for (; id != 0; id = next) {
    mp_sample *s = &h->samples.list[id];
    next = s->next;
    s->waiting = 0;
    s->row = row != 0 ? row : MP_ROW_LOST;
    if (row != 0)
      mp_counts_alloc(h->capture->counts, row, s->objects, s->size);
    else
      h->dropped++;
    if (s->freed) mp_objects_forget(h, id, s->size);
  }
  if (row != 0 && h->wants.events && !mp_events_settle(&h->events, row))
    h->dropped++;
}
