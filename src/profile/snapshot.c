/* SPDX-License-Identifier: MIT */
/*
** See profile/snapshot.h.
*/
#include "config.h"

#include <limits.h>
#include <string.h>

#include "profile/extent.h"
#include "profile/field.h"
#include "profile/heapwalk.h"
#include "profile/memory.h"
#include "profile/nativerows.h"
#include "profile/snapshot.h"
#include "profile/survivors.h"
#include "sample/native.h"
#include "vm/bug.h"
#include "vm/type.h"

static void set_string(lua_State *L, const char *key, const char *s)
{
  if (s == NULL) return;
  lua_pushstring(L, s);
  lua_setfield(L, -2, key);
}

static void set_bool(lua_State *L, const char *key, bool b)
{
  lua_pushboolean(L, b);
  lua_setfield(L, -2, key);
}

/* An array of so many strings, or up to a NULL. */
static void set_list(lua_State *L, const char *key, const char *const *list,
		     int max)
{
  int i;
  if (list == NULL) return;
  lua_newtable(L);
  for (i = 0; i < max && list[i] != NULL; i++) {
    lua_pushstring(L, list[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

/* then: where the window begins, or NULL. */
static void push_time(lua_State *L, const mp_span *span, const mp_sums *sums,
		      const mp_sums *then)
{
  if (then != NULL) mp_field(L, "window", then->wall);
  mp_field(L, "pid", (double)span->pid);
  mp_field(L, "started", span->unix0 + (then != NULL ? then->wall : 0));
  mp_field(L, "wall", sums->wall);
  mp_field(L, "cpu", sums->cpu);
  if (sums->cut > 0) mp_field(L, "cut", sums->cut);
}

static void push_info(lua_State *L, mp_profile *p)
{
  const mp_origin *o = &p->origin;
  set_string(L, "script", o->script);
  set_string(L, "luajit", o->luajit);
  set_string(L, "os", o->os);
  set_string(L, "arch", o->arch);
  set_string(L, "options", o->options);
  set_string(L, "cwd", o->cwd);
  set_string(L, "capture", p->heap.vm.proved ? "exact" : "safepoint");
  set_string(L, "capture_why", p->heap.vm.why);
  if (!p->capture.lines) set_bool(L, "no_lines", true);
  set_list(L, "command", (const char *const *)o->command, INT_MAX);
  if (p->cpu.waited)
    mp_notes_add(&p->notes, "no CPU samples while another Lua state of this "
		 "process has the profiling timer: there is one in a process");
  if (p->capture.full)
    mp_notes_add(&p->notes, "the limit of memory was reached: new stacks, "
		 "names and zones count as (other) since; option C raises it");
  if (p->cpu.lines && mp_bug_found())
    mp_notes_add(&p->notes, "this LuaJIT has a bug that a profile may bring "
		 "out: see BUGS in luajit-mp(1)");
  set_list(L, "notes", p->notes.list, MP_NOTES);
}

static void push_cpu(lua_State *L, const mp_cpu *c, const mp_sums *sums)
{
  lua_newtable(L);
  set_bool(L, "enabled", c->had_timer);
  mp_field(L, "samples", sums->ticks);
  mp_field(L, "interval", c->interval);
  set_string(L, "clock", c->clock);
}

static void push_heap(lua_State *L, mp_alloc *h, const mp_sums *s)
{
  double inuse = (double)mp_alloc_inuse(h);
  lua_newtable(L);
  set_bool(L, "enabled", true);
  mp_field(L, "alloc_objects", s->allocs);
  mp_field(L, "alloc_bytes", s->bytes);
  mp_field(L, "free_objects", s->frees);
  mp_field(L, "free_bytes", s->freed);
  mp_field(L, "realloc_objects", s->reallocs);
  mp_field(L, "realloc_bytes", s->realloc_bytes);
  mp_field(L, "realloc_freed", s->realloc_freed);
  mp_field(L, "samples", s->taken);
  mp_field(L, "dropped", s->dropped);
  mp_field(L, "period", h->exact ? 1 : h->period.mean);
  set_bool(L, "adaptive", h->period.adaptive);
  mp_field(L, "inuse", inuse);
  mp_field(L, "inuse_samples", (double)h->live.count);
  mp_field(L, "inuse_start", (double)h->inuse_start);
  mp_field(L, "peak", (double)h->peak);
  if (h->vm.proved) mp_field(L, "gc_cycles", s->cycles);
}

/* Pushes an empty list with room for n; in a window their number is not
** known. */
static void push_list(lua_State *L, const mp_extent *e, uint32_t n)
{
  lua_createtable(L, e->row_of != NULL ? 0 : (int)n, 0);
}

static void push_frames(lua_State *L, const mp_stacks *s, const mp_extent *e)
{
  static const char *const kinds[] = {
    [MP_LUA] = "Lua", [MP_C] = "C", [MP_BUILTIN] = "builtin",
    [MP_PSEUDO] = "pseudo", [MP_OWN] = "C"
  };
  char native[MP_NATIVE_NAME];
  const char *library;
  uint32_t i, id;
  push_list(L, e, e->frames);
  for (i = 1; i <= e->frames; i++) {
    const mp_frame copy = s->frames[i], *f = &copy;  /* The array may move. */
    if ((id = mp_extent_new(e->frame_of, i)) == 0) continue;
    lua_createtable(L, 0, 6);
    set_string(L, "kind", kinds[f->kind]);
    if (mp_native_name(f, native, &library)) {
      set_string(L, "name", native);
      set_string(L, "source", library);
    } else if (f->name != NULL) {
      lua_pushlstring(L, f->name, f->namelen);
      lua_setfield(L, -2, "name");
    }
    if (f->source != NULL) {
      lua_pushlstring(L, f->source, f->sourcelen);
      lua_setfield(L, -2, "source");
    }
    if (f->line > 0) mp_field(L, "line", f->line);
    if (f->linedefined >= 0) mp_field(L, "linedefined", f->linedefined);
    if (f->builtin != 0) mp_field(L, "builtin", f->builtin);
    if (f->code != 0) {
      mp_field(L, "code", (double)f->code);
      mp_field(L, "chunk", (double)f->chunk);
    }
    lua_rawseti(L, -2, (int)id);
  }
}

/* Pushes the stacks as two arrays: parent and frame. */
static void push_stacks(lua_State *L, const mp_stacks *s, const mp_extent *e)
{
  uint32_t i, id;
  lua_createtable(L, 0, 2);
  push_list(L, e, e->stacks);
  push_list(L, e, e->stacks);
  for (i = 1; i <= e->stacks; i++) {
    const mp_node node = s->nodes[i];
    if ((id = mp_extent_new(e->stack_of, i)) == 0) continue;
    lua_pushnumber(L, mp_extent_new(e->stack_of, node.parent));
    lua_rawseti(L, -3, (int)id);
    lua_pushnumber(L, mp_extent_new(e->frame_of, node.frame));
    lua_rawseti(L, -2, (int)id);
  }
  lua_setfield(L, -3, "frame");
  lua_setfield(L, -2, "parent");
}

/* The same for zones: parent and name. */
static void push_zones(lua_State *L, const mp_stacks *s, uint32_t n)
{
  uint32_t i;
  lua_createtable(L, 0, 2);
  lua_createtable(L, (int)n, 0);
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_node node = s->nodes[i];
    const mp_frame copy = s->frames[node.frame], *f = &copy;
    lua_pushnumber(L, node.parent);
    lua_rawseti(L, -3, (int)i);
    lua_pushlstring(L, f->name, f->namelen);
    lua_rawseti(L, -2, (int)i);
  }
  lua_setfield(L, -3, "name");
  lua_setfield(L, -2, "parent");
}

/* Sums of fractions that cancel leave a residue far below one. */
static double whole(double n) { return n < 1e-3 ? 0 : n; }

static void push_row(lua_State *L, const mp_row *r, uint32_t stack,
		     bool temporary)
{
  char state = (char)r->state;
  lua_createtable(L, 0, temporary ? 13 : 11);
  mp_field(L, "stack", stack);
  mp_field(L, "zone", r->zone);
  lua_pushlstring(L, &state, 1);
  lua_setfield(L, -2, "state");
  mp_field(L, "cpu", r->cpu);
  mp_field(L, "alloc_objects", whole(r->alloc_objects));
  mp_field(L, "alloc_bytes", whole(r->alloc_bytes));
  mp_field(L, "inuse_objects", whole(r->inuse_objects));
  mp_field(L, "inuse_bytes", whole(r->inuse_bytes));
  mp_field(L, "peak_objects", whole(r->peak_objects));
  mp_field(L, "peak_bytes", whole(r->peak_bytes));
  set_string(L, "type", mp_type_name(r->type));
  if (r->calls > 0) mp_field(L, "calls", r->calls);
  if (!temporary) return;
  mp_field(L, "temp_objects", whole(r->temp_objects));
  mp_field(L, "temp_bytes", whole(r->temp_bytes));
}

static void push_rows(lua_State *L, const mp_counts *counts, const mp_extent *e,
		      bool temporary)
{
  uint32_t i, id;
  push_list(L, e, e->rows);
  for (i = 1; i <= e->rows; i++) {
    const mp_row r = mp_extent_row(e, counts, i);
    if ((id = mp_extent_new(e->row_of, i)) == 0) continue;
    push_row(L, &r, mp_extent_new(e->stack_of, r.stack), temporary);
    lua_rawseti(L, -2, (int)id);
  }
}

static const char *phase_name(char phase)
{
  switch (phase) {
  case 'p': return "pause";
  case 'm': return "mark";
  case 's': return "sweep";
  case 'f': return "finalize";
  default: return NULL;
  }
}

static void push_course(lua_State *L, const mp_course *c, uint32_t n)
{
  uint32_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n && i < c->npoints; i++) {
    const mp_point copy = c->points[i], *p = &copy;
    lua_createtable(L, 0, 7);
    mp_field(L, "wall", p->wall);
    mp_field(L, "cpu", p->cpu);
    mp_field(L, "allocated", (double)p->allocated);
    mp_field(L, "inuse", (double)p->inuse);
    mp_field(L, "cycles", (double)p->cycles);
    mp_field(L, "rss", (double)p->rss);
    set_string(L, "phase", phase_name(p->phase));
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_timeline(lua_State *L, const mp_course *c, const mp_extent *e)
{
  uint32_t i;
  int n = 0;
  lua_createtable(L, (int)e->changes, 0);
  for (i = 0; i < e->changes && i < c->nchanges; i++) {
    const mp_change copy = c->changes[i], *ch = &copy;
    if (ch->point >= e->points || ch->row > e->rows) continue;
    lua_createtable(L, 0, 6);
    mp_field(L, "point", ch->point + 1);
    mp_field(L, "row", ch->row);
    mp_field(L, "cpu", ch->cpu);
    mp_field(L, "alloc_objects", ch->alloc_objects);
    mp_field(L, "alloc_bytes", ch->alloc_bytes);
    mp_field(L, "inuse_bytes", whole(ch->inuse_bytes));
    lua_rawseti(L, -2, ++n);
  }
}

static void push_events(lua_State *L, const mp_events *e, const mp_extent *to)
{
  uint32_t i;
  int n = 0;
  lua_createtable(L, (int)to->events, 0);
  for (i = 0; i < to->events; i++) {
    mp_event copy = e->list[i], *ev = &copy;
    if (ev->at > to->rows || ev->origin > to->rows) continue;
    if (to->to != NULL) mp_mark_event(to->from, to->to, i, ev);
    if (ev->count == 0) continue;
    lua_createtable(L, 0, 6);
    set_string(L, "kind", ev->kind == MP_FREE ? "free" : "realloc");
    mp_field(L, "row", ev->at);
    mp_field(L, "origin", ev->origin);
    mp_field(L, "count", (double)ev->count);
    mp_field(L, "alloc_bytes", (double)ev->alloc_bytes);
    mp_field(L, "free_bytes", (double)ev->free_bytes);
    lua_rawseti(L, -2, ++n);
  }
}

/* Pushes the groups: values of the profile as a whole. */
static void push_groups(lua_State *L, mp_profile *p, const mp_mark *from,
			const mp_mark *to)
{
  static const mp_sums start;
  const mp_sums sums = to != NULL ? mp_mark_sums(from, to) : mp_sums_now(p);
  lua_newtable(L);
  push_time(L, &p->span, &sums, to == NULL ? NULL : from == NULL ? &start :
	    &from->sums);
  push_info(L, p);
  lua_setfield(L, -2, "info");
  push_cpu(L, &p->cpu, &sums);
  lua_setfield(L, -2, "cpu");
  push_heap(L, &p->heap, &sums);
  lua_setfield(L, -2, "heap");
}

static void push_tables(lua_State *L, mp_profile *p, const mp_extent *e)
{
  push_frames(L, &p->capture.stacks, e);
  lua_setfield(L, -2, "frames");
  push_stacks(L, &p->capture.stacks, e);
  lua_setfield(L, -2, "stacks");
  push_zones(L, &p->capture.zones, e->zones);
  lua_setfield(L, -2, "zones");
  push_rows(L, &p->counts, e, !p->heap.rows_only && p->heap.vm.proved);
  lua_setfield(L, -2, "rows");
  push_course(L, &p->course, e->points);
  lua_setfield(L, -2, "course");
  push_timeline(L, &p->course, e);
  lua_setfield(L, -2, "timeline");
  if (!p->heap.wants_events) return;
  push_events(L, &p->heap.events, e);
  lua_setfield(L, -2, "events");
}

void mp_snapshot(lua_State *L, mp_profile *p, const mp_mark *from,
		 const mp_mark *to)
{
  mp_extent e;
  from = mp_mark_of(from, p);
  mp_extent_push(L, &e, p, from, to);
  lua_createtable(L, 0, 12);
  mp_field(L, "version", 1);
  push_groups(L, p, from, to);
  push_tables(L, p, &e);
  if (to == NULL) mp_nativerows_add(L, p, &e);
  lua_remove(L, -2);
  if (p->memory != NULL) {
    mp_memory_push(L, p->memory);
    lua_setfield(L, -2, "memory");
    mp_memory_push_pins(L, p->memory);
    lua_setfield(L, -2, "pins");
  }
  if (p->walk != NULL) {
    mp_heapwalk_push(L, p->walk);
    lua_setfield(L, -2, "walk");
  }
  if (p->heap.wants_leaks && to == NULL) {
    mp_survivors_push(L, &p->heap, e.rows);
    lua_pushboolean(L, p->heap.collected);
    lua_setfield(L, -2, "collected");
  }
}
