/* SPDX-License-Identifier: MIT */
/*
** The counts. See data/counts.h.
*/
#include "config.h"

#include <string.h>

#include "data/counts.h"
#include "data/mem.h"

void mp_counts_init(mp_counts *c)
{
  memset(c, 0, sizeof(*c));
}

uint32_t mp_counts_traced(mp_counts *c, uint32_t stack, uint32_t zone,
			  uint8_t state, uint8_t type, uint16_t trace)
{
  uint64_t h = mp_mix(mp_mix(mp_mix(5, stack), zone),
		      (uint64_t)trace << 16 | (uint64_t)type << 8 | state);
  uint32_t id;
  mp_row *r;
  for (; (id = mp_map_get(&c->map, h)) != 0; h = mp_mix(h, 1)) {
    r = &c->rows[id];
    if (r->stack == stack && r->zone == zone && r->state == state &&
	r->type == type && r->trace == trace)
      return id;
  }
  if (c->closed || c->nrows >= MP_COUNTS_MAX - 1) return 0;
  id = c->nrows + 1;
  if (!mp_mem_room(&c->rows, id, &c->caprows, sizeof(*r)) ||
      !mp_map_put(&c->map, h, id)) return 0;
  r = &c->rows[id];
  memset(r, 0, sizeof(*r));
  r->stack = stack;
  r->zone = zone;
  r->state = state;
  r->type = type;
  r->trace = trace;
  r->epoch = c->epoch;  /* It had nothing at the last peak. */
  __atomic_store_n(&c->nrows, id, __ATOMIC_RELEASE);
  return id;
}

size_t mp_counts_after(const mp_counts *c, uint32_t more)
{
  return mp_mem_after(c->nrows + more, c->caprows, sizeof(*c->rows)) +
	 mp_map_after(&c->map, more);
}

void mp_counts_move(mp_counts *c, uint32_t from, uint32_t to, double objects,
		    size_t size, uint32_t born)
{
  double bytes = objects * (double)size;
  mp_row *f = &c->rows[from], *t = &c->rows[to];
  mp_counts_alloc(c, to, objects, size);
  mp_counts_freed(c, from, objects, size);
  f->alloc_objects -= objects;
  f->alloc_bytes -= bytes;
  f->alloc_variance -= mp_counts_variance(objects, (double)size);
  if (born == c->epoch) return;  /* It was not there at the last peak. */
  f->peak_objects -= objects;
  f->peak_bytes -= bytes;
  t->peak_objects += objects;
  t->peak_bytes += bytes;
}

double mp_counts_peak_objects(const mp_counts *c, uint32_t row)
{
  const mp_row *r = &c->rows[row];
  return r->epoch == c->epoch ? r->peak_objects : r->inuse_objects;
}

double mp_counts_peak_bytes(const mp_counts *c, uint32_t row)
{
  const mp_row *r = &c->rows[row];
  return r->epoch == c->epoch ? r->peak_bytes : r->inuse_bytes;
}

void mp_counts_restart(mp_counts *c)
{
  uint32_t i;
  for (i = 1; i <= c->nrows; i++) {
    mp_row *r = &c->rows[i];
    r->cpu = r->cpu_squares = 0;
    r->alloc_objects = r->alloc_bytes = r->alloc_variance = 0;
    r->temp_objects = r->temp_bytes = r->calls = 0;
    r->waited = r->waited_variance = r->waiting = 0;
    r->start_objects = r->inuse_objects;
    r->start_bytes = r->inuse_bytes;
    mp_counts_touch(c, i);
  }
}

void mp_counts_free(mp_counts *c)
{
  mp_free(c->rows);
  mp_map_free(&c->map);
  memset(c, 0, sizeof(*c));
}
