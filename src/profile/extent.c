/* SPDX-License-Identifier: MIT */
/*
** See profile/extent.h.
*/
#include "config.h"

#include <string.h>

#include "data/map.h"
#include "profile/extent.h"

mp_row mp_extent_row(const mp_extent *e, const mp_profile *p, uint32_t i)
{
  const mp_counts *counts = mp_scope_counts(&e->scope, p);
  mp_row r = counts->rows[i];  /* The array may move. */
  r.peak_objects = mp_counts_peak_objects(counts, i);
  r.peak_bytes = mp_counts_peak_bytes(counts, i);
  mp_scope_reduce_row(&e->scope, i, &r);
  return r;
}

static bool has_any(const mp_row *r)
{
  return r->cpu > 0 || r->alloc_bytes > 0 || r->alloc_objects > 0 ||
	 r->inuse_bytes >= 1e-3 || r->peak_bytes >= 1e-3 || r->calls > 0 ||
	 r->waited > 0 || r->waiting > 0 || r->blocked > 0;
}

/* Marks the rows that have anything in the window, and their stacks. */
static void mark(mp_extent *e, const mp_profile *p)
{
  const mp_stacks *stacks = &p->capture.stacks;
  uint32_t i, s;
  for (i = 1; i <= e->rows; i++) {
    const mp_row r = mp_extent_row(e, p, i);
    if (!has_any(&r)) continue;
    e->row_of[i] = 1;
    for (s = r.stack; s != 0 && e->stack_of[s] == 0;
	 s = stacks->nodes[s].parent)
      e->stack_of[s] = e->frame_of[stacks->nodes[s].frame] = 1;
  }
}

static uint64_t code_key(const mp_stacks *stacks, uint32_t frame)
{
  return mp_mix(1, stacks->frames[frame].code);
}

/* The code of all functions that are marked so far: those on stacks. */
static void add_met(mp_map *met, const mp_extent *e, const mp_stacks *stacks)
{
  uint32_t i;
  for (i = 1; i <= e->frames; i++)
    if (e->frame_of[i] != 0) mp_map_put(met, code_key(stacks, i), 1);
}

/* Whether the function of a place may be on a stack: reports say of no other
** what it allocates. */
static bool is_met(const mp_map *met, const mp_compiler *c, uint32_t frame)
{
  const mp_stacks *stacks = &c->capture->stacks;
  return frame == 0 || stacks->frames[frame].code == 0 ||
	 mp_map_get(met, code_key(stacks, frame)) != 0;
}

/* Marks the places of the compiler's decisions, which are of the whole run. */
static void mark_place(mp_extent *e, uint32_t frame)
{
  if (frame != 0 && frame <= e->frames) e->frame_of[frame] = 1;
}

static void mark_decided(mp_extent *e, const mp_compiler *c, const mp_map *met)
{
  uint32_t i;
  for (i = 1; i <= e->giveups; i++) {
    mark_place(e, c->giveups[i].start);
    mark_place(e, c->giveups[i].at);
    mark_place(e, c->giveups[i].function);
  }
  for (i = 1; i <= e->made; i++) mark_place(e, c->made[i].start);
  for (i = 0; i < c->nblacklisted; i++)
    mark_place(e, c->blacklisted[i].start);
  for (i = 1; i <= e->escaped; i++) {
    if (!is_met(met, c, c->escaped[i].place)) continue;
    mark_place(e, c->escaped[i].place);
    mark_place(e, c->escaped[i].at);
  }
}

static void mark_places(mp_extent *e, const mp_profile *p)
{
  mp_map met = MP_MAP_EMPTY;
  add_met(&met, e, &p->capture.stacks);
  mark_decided(e, &p->compiler, &met);
  mp_map_free(&met);
}

static void mark_stacks(mp_extent *e, const mp_stacks *stacks)
{
  uint32_t s;
  for (s = 1; s <= e->stacks; s++) e->frame_of[stacks->nodes[s].frame] = 1;
}

/* Gives new numbers to what is marked; returns how many there are. */
static void number(uint32_t *of, uint32_t n)
{
  uint32_t i, count = 0;
  for (i = 1; i <= n; i++)
    if (of[i] != 0) of[i] = ++count;
}

/* The thread that runs the VM may go on: its arrays do not move meanwhile (see
** report/report.c), but entries are added to them. An entry refers only to
** those that were there before it: these are counted after it. */
static uint32_t numbered(const uint32_t *n)
{
  return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static void read_numbers(mp_extent *e, const mp_profile *p)
{
  const mp_events *events = mp_scope_events(&e->scope, p);
  const mp_counts *counts = mp_scope_counts(&e->scope, p);
  e->giveups = numbered(&p->compiler.ngiveups);
  e->made = numbered(&p->compiler.nmade);
  e->escaped = numbered(&p->compiler.nescaped);
  e->changes = numbered(&p->course.nchanges);
  e->points = numbered(&p->course.npoints);
  e->events = numbered(&events->count);
  e->rows = numbered(&counts->nrows);
  e->zones = numbered(&p->capture.zones.nnodes);
  e->stacks = numbered(&p->capture.stacks.nnodes);
  e->frames = numbered(&p->capture.stacks.nframes);
}

/* The places of traces that were forgotten (sample/decided) may be no place of
** anything: their frames are left out, and all else stays. */
static void push_frames(lua_State *L, mp_extent *e, const mp_profile *p)
{
  size_t n = ((size_t)e->frames + 1) * sizeof(uint32_t);
  if (!p->compiler.on) {
    lua_pushnil(L);
    return;
  }
  e->frame_of = memset(lua_newuserdata(L, n), 0, n);
  mark_stacks(e, &p->capture.stacks);
  mark_places(e, p);
  number(e->frame_of, e->frames);
}

void mp_extent_push(lua_State *L, mp_extent *e, const mp_profile *p,
		    const mp_scope *scope)
{
  size_t n;
  memset(e, 0, sizeof(*e));
  e->scope = *scope;
  read_numbers(e, p);
  /* These are of the whole run. */
  if (scope->window) e->points = e->changes = 0;
  /* Events refer to rows that need not have anything. */
  if (!scope->window || mp_alloc_wants(p->heap)->events) {
    push_frames(L, e, p);
    return;
  }
  n = (size_t)e->frames + e->stacks + e->rows + 3;
  e->frame_of = lua_newuserdata(L, n * sizeof(uint32_t));
  memset(e->frame_of, 0, n * sizeof(uint32_t));
  e->stack_of = e->frame_of + e->frames + 1;
  e->row_of = e->stack_of + e->stacks + 1;
  mark(e, p);
  if (p->compiler.on) mark_places(e, p);
  number(e->frame_of, e->frames);
  number(e->stack_of, e->stacks);
  number(e->row_of, e->rows);
}
