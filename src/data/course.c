/* SPDX-License-Identifier: MIT */
/*
** The course of a run. See data/course.h.
*/
#include "config.h"

#include <string.h>

#include "data/course.h"
#include "data/mem.h"

void mp_course_init(mp_course *c)
{
  memset(c, 0, sizeof(*c));
  c->spacing = MP_COURSE_SPACING;
  c->grain = 1;
}

void mp_course_free(mp_course *c)
{
  mp_free(c->points);
  mp_free(c->changes);
  mp_free(c->before);
  mp_course_init(c);
}

/* -- Thinning ------------------------------------------------------------ */

/* The point that has the changes of this one. */
static uint32_t point_of(const mp_course *c, uint32_t point)
{
  uint32_t last = (point / c->grain + 1) * c->grain - 1;
  return last < c->npoints ? last : c->npoints - 1;
}

/* Joins the changes of a row that belong to one point. */
static void join_changes(mp_course *c)
{
  uint32_t i, n = 0;
  for (i = 0; i < c->nchanges; i++) {
    mp_change ch = c->changes[i], *to;
    uint32_t *last = &c->before[ch.row].last;
    ch.point = point_of(c, ch.point);
    to = *last ? &c->changes[*last - 1] : NULL;
    if (to != NULL && to->point == ch.point) {
      to->cpu += ch.cpu;
      to->alloc_objects += ch.alloc_objects;
      to->alloc_bytes += ch.alloc_bytes;
      to->inuse_bytes = ch.inuse_bytes;
    } else {
      c->changes[n++] = ch;
      *last = n;
    }
  }
  for (i = 0; i < n; i++) c->before[c->changes[i].row].last = 0;
  c->nchanges = n;
}

/* Merges points in pairs: the later one of a pair stays, with the changes of
** both. */
static void thin_points(mp_course *c)
{
  uint32_t i;
  if (c->npoints & 1) {  /* The last one has no partner. */
    c->npoints--;
    for (i = 0; i < c->nchanges; i++)
      if (c->changes[i].point == c->npoints) c->changes[i].point--;
    c->points[c->npoints - 1] = c->points[c->npoints];
  }
  for (i = 0; i < c->npoints / 2; i++) c->points[i] = c->points[2 * i + 1];
  for (i = 0; i < c->nchanges; i++) c->changes[i].point /= 2;
  c->npoints /= 2;
  c->spacing *= 2;
  if (c->grain > 1) c->grain /= 2;
  join_changes(c);
}

/* Makes room for n more changes, within the limit. Half of them are left, so
** that it is a while until the next time. */
static void thin_changes(mp_course *c, uint32_t n, uint32_t most)
{
  if (c->nchanges + n <= most) return;
  join_changes(c);
  while (c->nchanges + n > most / 2 && c->grain < c->npoints) {
    c->grain *= 2;
    join_changes(c);
  }
}

/* -- Room ---------------------------------------------------------------- */

static bool room_before(mp_course *c, uint32_t rows)
{
  uint32_t cap = c->capbefore;
  if (!mp_mem_room(&c->before, rows, &c->capbefore,
		   sizeof(*c->before)))
    return false;
  memset(c->before + cap, 0, (c->capbefore - cap) * sizeof(*c->before));
  return true;
}

static bool changed(const mp_before *b, const mp_row *r)
{
  return b->cpu != r->cpu || b->alloc_objects != r->alloc_objects ||
	 b->inuse_bytes != r->inuse_bytes;
}

/* Rows that changed, or UINT32_MAX: no memory. */
static uint32_t count_changed(mp_course *c, const mp_counts *counts)
{
  uint32_t i, n = 0;
  if (!room_before(c, counts->nrows)) return UINT32_MAX;
  for (i = 1; i <= counts->nrows; i++)
    n += changed(&c->before[i], &counts->rows[i]);
  return n;
}

/* -- Points -------------------------------------------------------------- */

static void add_changes(mp_course *c, const mp_counts *counts)
{
  uint32_t i;
  for (i = 1; i <= counts->nrows; i++) {
    const mp_row *r = &counts->rows[i];
    mp_before *b = &c->before[i];
    if (!changed(b, r)) continue;
    c->changes[c->nchanges++] = (mp_change){
      c->npoints, i, r->cpu - b->cpu, r->alloc_objects - b->alloc_objects,
      r->alloc_bytes - b->alloc_bytes, r->inuse_bytes
    };
    *b = (mp_before){ r->cpu, r->alloc_objects, r->alloc_bytes,
		      r->inuse_bytes, 0 };
  }
}

/* Adds a list of changes to the point that comes next. False: no memory. */
static bool add_list(mp_course *c, const mp_counts *counts)
{
  uint32_t n = count_changed(c, counts), most;
  if (n == UINT32_MAX) return false;
  most = n > MP_COURSE_CHANGES / MP_COURSE_MIN ? n * MP_COURSE_MIN :
	 MP_COURSE_CHANGES;
  thin_changes(c, n, most);
  if (!mp_mem_room(&c->changes, c->nchanges + n, &c->capchanges,
		   sizeof(*c->changes)))
    return false;
  add_changes(c, counts);
  return true;
}

/* Seconds from a point at that time to the next. */
static double spacing_at(const mp_course *c, double wall)
{
  double part = wall / MP_COURSE_PART;
  if (part < MP_COURSE_LEAST) part = MP_COURSE_LEAST;
  return part < c->spacing ? part : c->spacing;
}

void mp_course_add(mp_course *c, const mp_point *p, const mp_counts *counts)
{
  c->due = p->wall + spacing_at(c, p->wall);
  if (c->points == NULL &&
      (c->points = mp_malloc(MP_COURSE_MAX * sizeof(*p))) == NULL)
    return;
  if (c->npoints == MP_COURSE_MAX) thin_points(c);
  if (p->wall >= c->listdue) {
    if (!add_list(c, counts)) return;
    c->listdue = p->wall + counts->nrows * MP_COURSE_ROW;
  }
  c->points[c->npoints++] = *p;
}
