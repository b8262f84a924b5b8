/* SPDX-License-Identifier: MIT */
/*
** See profile/decisions.h.
*/
#include "config.h"

#include "profile/decisions.h"
#include "profile/field.h"

/* A frame that came after the snapshot began is not in it. */
static void set_place(lua_State *L, const mp_extent *e, const char *key,
		      uint32_t frame)
{
  mp_field(L, key, frame == 0 || frame > e->frames ? 0 :
		   mp_extent_new(e->frame_of, frame));
}

static void push_giveups(lua_State *L, const mp_profile *p, const mp_extent *e)
{
  const mp_compiler *c = &p->compiler;
  uint32_t i, n = e->giveups;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_giveup g = c->giveups[i];  /* The array may move. */
    lua_createtable(L, 0, 10);
    set_place(L, e, "start", g.start);
    set_place(L, e, "at", g.at);
    set_place(L, e, "called", g.function);
    mp_field_string(L, "kind", g.early ? "early" : g.side ? "side" : "root");
    mp_field(L, "number", g.reason);
    if (g.detail >= 0) mp_field(L, "detail", g.detail);
    mp_field(L, "count", g.count);
    if (g.final) mp_field(L, "final", 1);
    if (g.loads > 0) mp_field(L, "loads", g.loads);
    if (g.wall > p->span.wall0) mp_field(L, "wall", g.wall - p->span.wall0);
    lua_rawseti(L, -2, (int)i);
  }
}

static void push_traces(lua_State *L, const mp_compiler *c,
			const mp_extent *e)
{
  uint32_t i, n = e->made;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    const mp_made m = c->made[i];
    const mp_jittrace *t = &m.trace;
    lua_createtable(L, 0, 16);
    set_place(L, e, "start", m.start);
    mp_field(L, "number", t->number);
    mp_field(L, "parent", t->parent);
    mp_field(L, "exit", t->exit);
    mp_field(L, "link", t->link);
    mp_field_string(L, "ends", t->ends);
    mp_field(L, "instructions", t->instructions);
    mp_field(L, "bytes", t->bytes);
    mp_field(L, "exits", t->exits);
    mp_field(L, "taken", t->taken);
    mp_field(L, "worst", t->worst);
    mp_field(L, "times", t->times);
    if (c->heard) mp_field(L, "ticks", m.ticks);
    if (c->heard) mp_field(L, "allocated", m.allocated);
    mp_field_string(L, "state", m.gone ? "gone" : "live");
    if (m.alike > 0) mp_field(L, "alike", m.alike);
    mp_field_string(L, "recorded", m.listing);
    lua_rawseti(L, -2, (int)i);
  }
}

static void push_flushes(lua_State *L, const mp_profile *p)
{
  static const char *const why[] = {
    [MP_FLUSH_ASKED] = "asked", [MP_FLUSH_GIVEUP] = "given up",
    [MP_FLUSH_TRACES] = "traces", [MP_FLUSH_SEEN] = "seen"
  };
  const mp_compiler *c = &p->compiler;
  uint32_t i, n = c->nflushes;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    const mp_flush f = c->flushes[i];
    double wall = f.wall - p->span.wall0;
    lua_createtable(L, 0, 4);
    mp_field(L, "wall", wall > 0 ? wall : 0);
    mp_field_string(L, "why", why[f.why]);
    mp_field(L, "number", f.reason);
    if (f.count > 1) mp_field(L, "count", f.count);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_blacklisted(lua_State *L, const mp_compiler *c,
			     const mp_extent *e)
{
  uint32_t i, n = c->nblacklisted;
  lua_createtable(L, (int)n, 0);
  for (i = 0; i < n; i++) {
    const mp_blacklisted b = c->blacklisted[i];
    lua_createtable(L, 0, 2);
    set_place(L, e, "start", b.start);
    mp_field_string(L, "kind", b.kind);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_escaped(lua_State *L, const mp_compiler *c,
			 const mp_extent *e)
{
  static const char *const how[MP_ESCAPES] = {
    "unknown", "table", "new", "upvalue", "memory", "key", "call", "end",
    "turn", "read"
  };
  uint32_t i, n = e->escaped;
  int count = 0;
  lua_newtable(L);
  for (i = 1; i <= n; i++) {
    const mp_escaped s = c->escaped[i];
    if (mp_extent_new(e->frame_of, s.place) == 0) continue;
    lua_createtable(L, 0, 4);
    set_place(L, e, "place", s.place);
    set_place(L, e, "at", s.at);
    mp_field_string(L, "how", how[s.how]);
    mp_field(L, "count", s.count);
    lua_rawseti(L, -2, ++count);
  }
}

static void push_head(lua_State *L, const mp_profile *p)
{
  const mp_compiler *c = &p->compiler;
  const mp_vm *vm = mp_alloc_vm(p->heap);
  int i, bytecode, off;
  lua_createtable(L, 0, 24);
  mp_field_bool(L, "enabled", true);
  mp_field_bool(L, "events", c->heard);
  mp_field_string(L, "why", c->why);
  mp_field_bool(L, "proved", vm->proved && mp_jitstate_penalties());
  mp_field_bool(L, "looked", c->looked && mp_jitstate_traces());
  if (c->noff > 0)
    mp_field_string(L, "off", c->noff == c->nlooks ||
		    (c->heard && c->started == 0) ? "all" : "part");
  if (c->lists) mp_field_bool(L, "listed", true);
  if (c->lists) mp_field_string(L, "unlisted", c->unlisted);
  if (c->leftout > 0) mp_field(L, "left_out", c->leftout);
  mp_field(L, "started", c->started);
  mp_field(L, "made", c->stopped);
  mp_field(L, "given_up", c->aborted);
  mp_field(L, "dropped", c->dropped);
  mp_field(L, "compiling", p->cpu.compiling);
  mp_field(L, "protecting", p->cpu.protecting);
  mp_jitstate_reasons(&bytecode, &off);
  mp_field(L, "reason_bytecode", bytecode);
  mp_field(L, "reason_off", off);
  for (i = 0; i < MP_JIT_PARAMS && vm->proved; i++) {
    int32_t value;
    const char *name = mp_jitstate_param(vm, i, &value);
    if (name != NULL && value >= 0) mp_field(L, name, value);
  }
}

void mp_decisions_push(lua_State *L, const mp_profile *p, const mp_extent *e)
{
  const mp_compiler *c = &p->compiler;
  push_head(L, p);
  lua_setfield(L, -2, "compiler");
  push_giveups(L, p, e);
  lua_setfield(L, -2, "giveups");
  push_traces(L, c, e);
  lua_setfield(L, -2, "traces");
  push_flushes(L, p);
  lua_setfield(L, -2, "flushes");
  push_blacklisted(L, c, e);
  lua_setfield(L, -2, "blacklisted");
  push_escaped(L, c, e);
  lua_setfield(L, -2, "escapes");
}
