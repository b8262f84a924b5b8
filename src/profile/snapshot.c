/* SPDX-License-Identifier: MIT */
/*
** See profile/snapshot.h.
*/
#include "config.h"

#include <limits.h>
#include <string.h>

#include "profile/field.h"
#include "profile/heapwalk.h"
#include "profile/memory.h"
#include "profile/snapshot.h"
#include "profile/survivors.h"
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

/* CPU seconds that the samples stand for. */
static double cpu_covered(mp_profile *p)
{
  double now = p->span.ended ? p->span.cpu1 : mp_cpu_time(&p->cpu);
  if (!mp_cpu_lost(&p->cpu, now)) return now;
  mp_notes_add(&p->notes, "CPU time ends at the last sample: afterwards "
	       "another profiler took the timer, or C code never returned");
  return p->cpu.samples > 0 ? p->cpu.seen : 0;
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

static void push_info(lua_State *L, mp_profile *p)
{
  const mp_origin *o = &p->origin;
  lua_newtable(L);
  set_string(L, "script", o->script);
  set_string(L, "luajit", o->luajit);
  set_string(L, "os", o->os);
  set_string(L, "arch", o->arch);
  set_string(L, "options", o->options);
  set_string(L, "cwd", o->cwd);
  mp_field(L, "pid", (double)p->span.pid);
  mp_field(L, "started", p->span.unix0);
  mp_field(L, "wall", mp_span_wall(&p->span));
  mp_field(L, "cpu", cpu_covered(p));
  set_string(L, "capture", p->heap.vm.proved ? "exact" : "safepoint");
  set_string(L, "capture_why", p->heap.vm.why);
  if (p->capture.cut > 0) mp_field(L, "cut", (double)p->capture.cut);
  set_list(L, "command", (const char *const *)o->command, INT_MAX);
  if (p->cpu.waited)
    mp_notes_add(&p->notes, "no CPU samples while another Lua state of this "
		 "process has the profiling timer: there is one in a process");
  set_list(L, "notes", p->notes.list, MP_NOTES);
}

static void push_cpu(lua_State *L, const mp_cpu *c)
{
  lua_newtable(L);
  set_bool(L, "enabled", c->had_timer);
  mp_field(L, "samples", (double)c->samples);
  mp_field(L, "interval", c->interval);
  set_string(L, "clock", c->clock);
}

/* Samples that are lost unless a safepoint comes. */
static double count_waiting(const mp_samples *s)
{
  double n = 0;
  uint32_t id;
  for (id = s->waiting; id != 0; id = s->list[id].next) n++;
  return n;
}

static void push_heap(lua_State *L, mp_alloc *h, uint64_t dropped)
{
  double inuse = (double)mp_alloc_inuse(h);
  double bytes = (double)mp_alloc_bytes(h);
  lua_newtable(L);
  set_bool(L, "enabled", true);
  mp_field(L, "alloc_objects", (double)mp_alloc_allocs(h));
  mp_field(L, "alloc_bytes", bytes);
  mp_field(L, "free_objects", (double)h->frees);
  mp_field(L, "free_bytes", bytes - (inuse - (double)h->inuse_start));
  mp_field(L, "realloc_objects", (double)h->reallocs);
  mp_field(L, "realloc_bytes", (double)h->realloc_bytes);
  mp_field(L, "realloc_freed", (double)h->realloc_freed);
  mp_field(L, "samples", (double)h->taken);
  mp_field(L, "dropped", (double)dropped + count_waiting(&h->samples));
  mp_field(L, "period", h->exact ? 1 : h->period.mean);
  set_bool(L, "adaptive", h->period.adaptive);
  mp_field(L, "inuse", inuse);
  mp_field(L, "inuse_samples", (double)h->live.count);
  mp_field(L, "inuse_start", (double)h->inuse_start);
  mp_field(L, "peak", (double)h->peak);
  if (h->vm.proved) mp_field(L, "gc_cycles", (double)h->cycles);
}

/* What there is when the snapshot begins. Made in the profiled VM, finalizers
** may make more while it goes on: that is not in it. */
typedef struct extent {
  uint32_t frames, stacks, zones, rows, points, changes, events;
} extent;

static void push_frames(lua_State *L, const mp_stacks *s, uint32_t n)
{
  static const char *const kinds[] = {
    [MP_LUA] = "Lua", [MP_C] = "C", [MP_BUILTIN] = "builtin",
    [MP_PSEUDO] = "pseudo", [MP_OWN] = "C"
  };
  uint32_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_frame copy = s->frames[i], *f = &copy;  /* The array may move. */
    lua_createtable(L, 0, 6);
    set_string(L, "kind", kinds[f->kind]);
    if (f->name != NULL) {
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
    lua_rawseti(L, -2, (int)i);
  }
}

/* Arrays "parent" and, under the name given, what makes up a node. */
static void push_stacks(lua_State *L, const mp_stacks *s, uint32_t n,
			const char *field, bool names)
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
    if (names) lua_pushlstring(L, f->name, f->namelen);
    else lua_pushnumber(L, node.frame);
    lua_rawseti(L, -2, (int)i);
  }
  lua_setfield(L, -3, field);
  lua_setfield(L, -2, "parent");
}

/* Sums of fractions that cancel leave a residue far below one. */
static double whole(double n) { return n < 1e-3 ? 0 : n; }

static void push_rows(lua_State *L, const mp_counts *counts, uint32_t n,
		      bool temporary)
{
  uint32_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_row copy = counts->rows[i], *r = &copy;
    char state = (char)r->state;
    lua_createtable(L, 0, temporary ? 13 : 11);
    mp_field(L, "stack", r->stack);
    mp_field(L, "zone", r->zone);
    lua_pushlstring(L, &state, 1);
    lua_setfield(L, -2, "state");
    mp_field(L, "cpu", r->cpu);
    mp_field(L, "alloc_objects", whole(r->alloc_objects));
    mp_field(L, "alloc_bytes", whole(r->alloc_bytes));
    mp_field(L, "inuse_objects", whole(r->inuse_objects));
    mp_field(L, "inuse_bytes", whole(r->inuse_bytes));
    mp_field(L, "peak_objects", whole(mp_counts_peak_objects(counts, i)));
    mp_field(L, "peak_bytes", whole(mp_counts_peak_bytes(counts, i)));
    set_string(L, "type", mp_type_name(r->type));
    if (temporary) {
      mp_field(L, "temp_objects", whole(r->temp_objects));
      mp_field(L, "temp_bytes", whole(r->temp_bytes));
    }
    lua_rawseti(L, -2, (int)i);
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
    set_string(L, "phase", p->phase == 'p' ? "pause" : p->phase == 'm' ? "mark" :
	       p->phase == 's' ? "sweep" : p->phase == 'f' ? "finalize" : NULL);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_timeline(lua_State *L, const mp_course *c, const extent *e)
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

static void push_events(lua_State *L, const mp_events *e, const extent *to)
{
  uint32_t i;
  int n = 0;
  lua_createtable(L, (int)to->events, 0);
  for (i = 0; i < to->events; i++) {
    const mp_event copy = e->list[i], *ev = &copy;
    if (ev->at > to->rows || ev->origin > to->rows) continue;
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

void mp_snapshot(lua_State *L, mp_profile *p)
{
  const extent to = {
    p->capture.stacks.nframes, p->capture.stacks.nnodes,
    p->capture.zones.nnodes, p->counts.nrows, p->course.npoints,
    p->course.nchanges, p->heap.events.count
  };
  lua_createtable(L, 0, 12);
  mp_field(L, "version", 1);
  push_info(L, p);
  lua_setfield(L, -2, "info");
  push_cpu(L, &p->cpu);
  lua_setfield(L, -2, "cpu");
  push_heap(L, &p->heap, p->heap.dropped + p->cpu.dropped);
  lua_setfield(L, -2, "heap");
  push_frames(L, &p->capture.stacks, to.frames);
  lua_setfield(L, -2, "frames");
  push_stacks(L, &p->capture.stacks, to.stacks, "frame", false);
  lua_setfield(L, -2, "stacks");
  push_stacks(L, &p->capture.zones, to.zones, "name", true);
  lua_setfield(L, -2, "zones");
  push_rows(L, &p->counts, to.rows, !p->heap.rows_only && p->heap.vm.proved);
  lua_setfield(L, -2, "rows");
  push_course(L, &p->course, to.points);
  lua_setfield(L, -2, "course");
  push_timeline(L, &p->course, &to);
  lua_setfield(L, -2, "timeline");
  if (p->heap.wants_events) {
    push_events(L, &p->heap.events, &to);
    lua_setfield(L, -2, "events");
  }
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
  if (p->heap.wants_leaks) {
    mp_survivors_push(L, &p->heap, to.rows);
    lua_pushboolean(L, p->heap.collected);
    lua_setfield(L, -2, "collected");
  }
}
