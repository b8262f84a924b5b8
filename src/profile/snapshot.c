/* SPDX-License-Identifier: MIT */
/*
** See profile/snapshot.h.
*/
#include "config.h"

#include "profile/cnames.h"
#include "profile/decisions.h"
#include "profile/eventlist.h"
#include "profile/extent.h"
#include "profile/field.h"
#include "profile/groups.h"
#include "profile/memory.h"
#include "profile/snapshot.h"
#include "profile/survivors.h"
#include "sample/nativename.h"
#include "vm/type.h"

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
  lua_createtable(L, 0, temporary ? 15 : 13);
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
  if (r->alloc_variance >= 1) mp_field(L, "alloc_variance", r->alloc_variance);
  if (r->inuse_variance >= 1) mp_field(L, "inuse_variance", r->inuse_variance);
  mp_field_string(L, "type", mp_type_name(r->type));
  if (r->calls > 0) mp_field(L, "calls", r->calls);
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
  mp_eventlist_push(L, p, e);
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
  mp_groups_push(L, p, &s);
  push_tables(L, p, &e);
  for (add = p->additions; *add != NULL; add++) (*add)(L, p, &e, &s);
  lua_remove(L, -2);
  if (p->memory != NULL) {
    mp_memory_push(L, p->memory);
    lua_setfield(L, -2, "memory");
    mp_memory_push_pins(L, p->memory);
    lua_setfield(L, -2, "pins");
  }
  if (p->compiler.on && !s.window) mp_decisions_push(L, p, &e);
  if (mp_alloc_wants(p->heap)->leaks && !s.window) {
    mp_survivors_push(L, p->heap, e.rows,
		      s.to != NULL ? s.to->survived : NULL);
    mp_field_bool(L, "collected", mp_alloc_was_collected(p->heap));
    if (mp_alloc_was_collected(p->heap))
      mp_field(L, "collected_after", p->collected_after);
  }
}
