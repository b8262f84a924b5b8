/* SPDX-License-Identifier: MIT */
/*
** See profile/snapshot.h.
*/
#include "config.h"

#include <limits.h>

#include "profile/cnames.h"
#include "profile/decisions.h"
#include "profile/extent.h"
#include "profile/field.h"
#include "profile/memory.h"
#include "profile/snapshot.h"
#include "profile/survivors.h"
#include "sample/nativename.h"
#include "vm/bug.h"
#include "vm/type.h"

/* -- Events --------------------------------------------------------------- */

/*
** The reallocations and frees of a snapshot.
**
** The collector's frees are not counted as they happen (sample/hook.c): of all
** that a row has allocated they are the part that is not in use and that
** nothing else has freed.
*/

/* The part of a row's memory that was freed, less the frees counted so far. */
typedef struct rest {
  double objects, bytes;
} rest;

/* Appends an event to the list on top of the stack. */
static void append(lua_State *L, mp_eventkind kind, uint32_t at,
		   uint32_t origin, double count, double alloc, double freed)
{
  lua_createtable(L, 0, 6);
  mp_field_string(L, "kind", kind == MP_FREE ? "free" : "realloc");
  mp_field(L, "row", at);
  mp_field(L, "origin", origin);
  mp_field(L, "count", count);
  mp_field(L, "alloc_bytes", alloc);
  mp_field(L, "free_bytes", freed);
  lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
}

static void append_counted(lua_State *L, const mp_events *events,
			   const mp_extent *e, rest *left)
{
  uint32_t i;
  for (i = 0; i < e->events; i++) {
    mp_event copy = events->list[i], *ev = &copy;  /* The array may move. */
    if (ev->at > e->rows || ev->origin > e->rows) continue;
    mp_scope_reduce_event(&e->scope, i, ev);
    if (ev->count == 0) continue;
    left[ev->origin].objects -= (double)ev->count;
    left[ev->origin].bytes -= (double)ev->free_bytes;
    append(L, ev->kind, ev->at, ev->origin, (double)ev->count,
	   (double)ev->alloc_bytes, (double)ev->free_bytes);
  }
}

/* Where the VM's layout is not known, there is no row of the collector, and all
** frees are counted. */
static void append_collected(lua_State *L, uint32_t gcrow, const mp_extent *e,
			     const rest *left)
{
  uint32_t i;
  if (gcrow == 0 || gcrow > e->rows) return;
  for (i = 1; i <= e->rows; i++)
    if (left[i].objects > 0 && left[i].bytes > 0)
      append(L, MP_FREE, gcrow, i, left[i].objects, 0, left[i].bytes);
}

/* Pushes the events in the extent, as a list of tables. Raises Lua errors: out
** of memory. */
static void eventlist_push(lua_State *L, const mp_profile *p,
			   const mp_extent *e)
{
  rest *left = lua_newuserdata(L, (e->rows + 1) * sizeof(*left));
  uint32_t i;
  for (i = 1; i <= e->rows; i++) {
    const mp_row r = mp_extent_row(e, p, i);
    left[i].objects = mp_counts_gone_objects(&r);
    left[i].bytes = mp_counts_gone_bytes(&r);
  }
  left[0] = (rest){ 0, 0 };  /* Of what was there before, all are counted. */
  lua_newtable(L);
  append_counted(L, mp_scope_events(&e->scope, p), e, left);
  append_collected(L, p->capture.gcrow, e, left);
  lua_remove(L, -2);
}

/* -- Groups --------------------------------------------------------------- */

/*
** The values of a snapshot that describe the profile as a whole: the groups
** info, cpu and heap, and where events are recorded the allocations of each
** type.
*/

/* An array of at most `max` strings, up to a NULL. */
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

/* Adds the reasons why a part of the run has no samples of the CPU. */
static void note_ticks(mp_profile *p)
{
  if (p->cpu.waited)
    mp_notes_add(&p->notes, "no CPU samples while another Lua state of the "
		 "thread has the profiling timer");
  if (p->cpu.blocked)
    mp_notes_add(&p->notes, "no CPU samples while the program blocks SIGURG, "
		 "the signal of the timer");
  if (p->cpu.handled)
    mp_notes_add(&p->notes, "the program has set a handler of SIGURG: since "
		 "then the timer is LuaJIT's own, on the CPU time of the "
		 "process");
}

static void push_trigger(lua_State *L, const mp_trigger *a)
{
  if (a == NULL) return;
  mp_field_string(L, "trigger", a->kind);
  mp_field(L, "trigger_used", a->used);
  mp_field(L, "trigger_limit", a->most);
  mp_field_string(L, "trigger_of", a->of);
  if (a->asked > 0) mp_field(L, "trigger_asked", a->asked);
  if (a->at[0] != '\0') mp_field_string(L, "trigger_at", a->at);
}

static void note_labels(const mp_labels *l, mp_notes *notes)
{
  if (l->full)
    mp_notes_add(notes, "more labels than are kept (4096 sets of them, 256 KiB "
		 "of text, 16 of a coroutine): since then new ones count as "
		 "(other)");
  if (l->lost)
    mp_notes_add(notes, "labels are missing: there was no memory for them, or "
		 "another allocator was put over the profiler's");
}

/* Without a layout lines are always recorded. */
#define BUG	"this LuaJIT has a bug in table lengths, which lines bring " \
		"out in few programs: if one misbehaves, use "
#define REMEDY	"-O-fwd or a LuaJIT from after 20 May 2022"

static void push_info(lua_State *L, mp_profile *p, const mp_trigger *event)
{
  const mp_origin *o = &p->origin;
  const mp_vm *vm = mp_alloc_vm(p->heap);
  mp_field_string(L, "script", o->script);
  mp_field_string(L, "luajit", o->luajit);
  mp_field_string(L, "os", o->os);
  mp_field_string(L, "arch", o->arch);
  mp_field_string(L, "options", o->options);
  mp_field_string(L, "cwd", o->cwd);
  mp_field_string(L, "capture", vm->proved ? "exact" : "safepoint");
  mp_field_string(L, "capture_why", vm->why);
  push_trigger(L, event);
  if (!p->capture.lines) mp_field_bool(L, "no_lines", true);
  if (!mp_alloc_wants(p->heap)->types) mp_field_bool(L, "no_types", true);
  set_list(L, "command", (const char *const *)o->command, INT_MAX);
  note_ticks(p);
  if (p->capture.full)
    mp_notes_add(&p->notes, "the memory limit was reached: since then new "
		 "stacks, names, labels and zones count as (other); option C "
		 "raises the limit");
  note_labels(&p->capture.labels, &p->notes);
  if (p->cpu.lines && mp_bug_found())
    mp_notes_add(&p->notes, vm->proved ? BUG "option f, " REMEDY :
		 BUG REMEDY);
  set_list(L, "notes", p->notes.list, MP_NOTES);
}

static void push_cpu(lua_State *L, const mp_cpu *c, const mp_sums *sums)
{
  static const char *const why[] = {
    NULL, "another profiler took the timer",
    "the program blocks SIGURG, the signal of the timer",
    "C code never returned to Lua"
  };
  lua_newtable(L);
  mp_field_bool(L, "enabled", c->had_timer);
  mp_field(L, "samples", sums->ticks);
  mp_field(L, "interval", mp_cpu_interval(c));
  if (c->interval == 0) mp_field_bool(L, "adaptive", true);
  mp_field_string(L, "clock", c->clock);
  if (c->had_timer && sums->ticks == 0)
    mp_field_string(L, "why", why[mp_cpu_why(c)]);
}

static void push_heap(lua_State *L, mp_profile *p, const mp_scope *scope,
		      const mp_sums *s)
{
  mp_alloc *h = p->heap;
  const mp_alloc_sums now = mp_alloc_totals(h);
  lua_newtable(L);
  mp_field_bool(L, "enabled", true);
  mp_field(L, "alloc_objects", s->allocs);
  mp_field(L, "alloc_bytes", s->bytes);
  mp_field(L, "free_objects", s->frees);
  mp_field(L, "free_bytes", s->freed);
  mp_field(L, "realloc_objects", s->reallocs);
  mp_field(L, "realloc_bytes", s->realloc_bytes);
  mp_field(L, "realloc_freed", s->realloc_freed);
  mp_field(L, "samples", s->taken);
  mp_field(L, "dropped", s->dropped);
  mp_field(L, "period", mp_alloc_period(h));
  mp_field_bool(L, "adaptive", mp_alloc_adapts(h));
  mp_field(L, "inuse", (double)mp_scope_inuse(scope, p));
  mp_field(L, "inuse_samples", (double)mp_scope_live(scope, p));
  mp_field(L, "inuse_start", (double)now.inuse_start);
  mp_field(L, "peak", (double)mp_scope_peak(scope, p));
  if (mp_alloc_vm(h)->proved) mp_field(L, "gc_cycles", s->cycles);
  mp_field(L, "gc_looks", s->looks);
  mp_field(L, "gc_stopped", s->stopped);
}

static void push_waits(lua_State *L, const mp_waits *w, const mp_sums *s)
{
  if (!w->on) return;
  lua_newtable(L);
  mp_field_bool(L, "enabled", true);
  mp_field_string(L, "why", w->why);
  mp_field_string(L, "blocked_why", w->blockedwhy);
  mp_field(L, "coroutines", w->coroutines);
  mp_field(L, "time", s->watched);
  lua_setfield(L, -2, "waits");
}

static void push_types(lua_State *L, const mp_sums *s)
{
  unsigned i;
  int n = 0;
  lua_newtable(L);
  for (i = 0; i < MP_NTYPES; i++) {
    if (s->type_objects[i] == 0) continue;
    lua_createtable(L, 0, 3);
    mp_field_string(L, "type", mp_type_name(i));
    mp_field(L, "alloc_objects", s->type_objects[i]);
    mp_field(L, "alloc_bytes", s->type_bytes[i]);
    lua_rawseti(L, -2, ++n);
  }
}

/* Sets them in the table on top of the stack. Raises Lua errors: out of
** memory. */
static void groups_push(lua_State *L, mp_profile *p, const mp_scope *scope)
{
  static const mp_sums start;
  const mp_sums sums = mp_scope_sums(scope, p);
  lua_newtable(L);
  push_time(L, &p->span, &sums, !scope->window ? NULL :
	    scope->from == NULL ? &start : &scope->from->sums);
  push_info(L, p, scope->event);
  lua_setfield(L, -2, "info");
  push_cpu(L, &p->cpu, &sums);
  lua_setfield(L, -2, "cpu");
  push_heap(L, p, scope, &sums);
  lua_setfield(L, -2, "heap");
  push_waits(L, &p->waits, &sums);
  if (!mp_alloc_wants(p->heap)->events) return;
  push_types(L, &sums);
  lua_setfield(L, -2, "alloc_types");
}

/* -- The snapshot --------------------------------------------------------- */

/* Pushes an empty list with room for n; in a window their number is not
** known. */
static void push_list(lua_State *L, const mp_extent *e, uint32_t n)
{
  lua_createtable(L, e->row_of != NULL ? 0 : (int)n, 0);
}

/* A C function's identity is its place in its library. */
static void push_identity(lua_State *L, const mp_frame *f)
{
  if (f->code == 0) return;
  if (f->kind != MP_LUA) {
    mp_field(L, "code", (double)(f->code - f->chunk));
  } else {
    mp_field(L, "code", (double)f->code);
    mp_field(L, "chunk", (double)f->chunk);
  }
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
    mp_field_string(L, "kind", kinds[f->kind]);
    if (mp_nativename_get(f, native, &library)) {
      mp_field_string(L, "name", native);
      mp_field_string(L, "source", library);
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
    push_identity(L, f);
    lua_rawseti(L, -2, (int)id);
  }
  mp_cnames(L, s, e);
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

/* The same for labels and zones: parent and name; of a label, whose name is its
** value, the key, too. */
static void push_zones(lua_State *L, const mp_stacks *s, uint32_t n)
{
  uint32_t i;
  lua_createtable(L, 0, 3);
  lua_createtable(L, 0, 0);
  lua_createtable(L, (int)n, 0);
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_node node = s->nodes[i];
    const mp_frame copy = s->frames[node.frame], *f = &copy;
    lua_pushnumber(L, node.parent);
    lua_rawseti(L, -3, (int)i);
    if (f->kind == MP_LABEL) {
      lua_pushlstring(L, f->name, f->namelen);
      lua_rawseti(L, -4, (int)i);
      lua_pushlstring(L, f->source, f->sourcelen);
    } else {
      lua_pushlstring(L, f->name, f->namelen);
    }
    lua_rawseti(L, -2, (int)i);
  }
  lua_setfield(L, -4, "name");
  lua_setfield(L, -3, "parent");
  lua_setfield(L, -2, "key");
}

/* Sums of fractions that cancel leave a residue far below one. */
static double whole(double n) { return n < 1e-3 ? 0 : n; }

static void push_row(lua_State *L, const mp_row *r, uint32_t stack,
		     bool temporary, bool weighted)
{
  char state = (char)r->state;
  lua_createtable(L, 0, temporary ? 16 : 14);
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
  if (weighted && r->cpu_squares > 0)
    mp_field(L, "cpu_variance", r->cpu_squares);
  if (r->alloc_variance >= 1) mp_field(L, "alloc_variance", r->alloc_variance);
  if (r->inuse_variance >= 1) mp_field(L, "inuse_variance", r->inuse_variance);
  mp_field_string(L, "type", mp_type_name(r->type));
  if (r->trace != 0) mp_field(L, "trace", r->trace);
  if (r->calls > 0) mp_field(L, "calls", r->calls);
  if (r->waited > 0) {
    mp_field(L, "waited", r->waited);
    mp_field(L, "waited_variance", r->waited_variance);
  }
  if (r->waiting > 0) mp_field(L, "waiting", r->waiting);
  if (r->blocked > 0) {
    mp_field(L, "blocked", r->blocked);
    mp_field(L, "blocked_variance", r->blocked_variance);
  }
  if (!temporary) return;
  mp_field(L, "temp_objects", whole(r->temp_objects));
  mp_field(L, "temp_bytes", whole(r->temp_bytes));
}

static void push_rows(lua_State *L, const mp_profile *p, const mp_extent *e,
		      bool temporary)
{
  uint32_t i, id;
  push_list(L, e, e->rows);
  for (i = 1; i <= e->rows; i++) {
    const mp_row r = mp_extent_row(e, p, i);
    if ((id = mp_extent_new(e->row_of, i)) == 0) continue;
    push_row(L, &r, mp_extent_new(e->stack_of, r.stack), temporary,
	     p->cpu.interval == 0);
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
    mp_field_string(L, "phase", phase_name(p->phase));
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

static void push_tables(lua_State *L, mp_profile *p, const mp_extent *e)
{
  bool events = mp_alloc_wants(p->heap)->events;
  push_frames(L, &p->capture.stacks, e);
  lua_setfield(L, -2, "frames");
  push_stacks(L, &p->capture.stacks, e);
  lua_setfield(L, -2, "stacks");
  push_zones(L, &p->capture.zones, e->zones);
  lua_setfield(L, -2, "zones");
  push_rows(L, p, e, mp_alloc_vm(p->heap)->proved &&
	    (mp_alloc_has_records(p->heap) || events));
  lua_setfield(L, -2, "rows");
  push_course(L, &p->course, e->points);
  lua_setfield(L, -2, "course");
  push_timeline(L, &p->course, e);
  lua_setfield(L, -2, "timeline");
  if (!events) return;
  eventlist_push(L, p, e);
  lua_setfield(L, -2, "events");
}

void mp_snapshot(lua_State *L, mp_profile *p, const mp_scope *scope)
{
  const mp_addition *add;
  mp_scope s = *scope;
  mp_extent e;
  s.from = mp_moment_of(s.from, p);
  mp_extent_push(L, &e, p, &s);
  lua_createtable(L, 0, 12);
  mp_field(L, "version", 1);
  groups_push(L, p, &s);
  push_tables(L, p, &e);
  for (add = p->additions; *add != NULL; add++) (*add)(L, p, &e, &s);
  if (p->memory != NULL) {
    mp_memory_push(L, p->memory);
    lua_setfield(L, -2, "memory");
    mp_memory_push_pins(L, p->memory);
    lua_setfield(L, -2, "pins");
  }
  if (p->compiler.on) mp_decisions_push(L, p, &e);
  if (mp_alloc_wants(p->heap)->leaks && !s.window) {
    mp_survivors_push(L, p->heap, e.rows,
		      s.to != NULL ? s.to->survived : NULL);
    mp_field_bool(L, "collected", mp_alloc_was_collected(p->heap));
    if (mp_alloc_was_collected(p->heap))
      mp_field(L, "collected_after", p->collected_after);
  }
  lua_remove(L, -2);  /* The memory of the extent, which all of these read. */
}
