/*
** The profile as plain Lua tables: the only way from the core to the views.
** The fields are documented in jit.mp(3).
*/
#include "config.h"

#include <unistd.h>

#include "mp.h"

static void set_number(lua_State *L, const char *key, double n)
{
  lua_pushnumber(L, n);
  lua_setfield(L, -2, key);
}

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

static void push_info(lua_State *L, mp_ctx *c)
{
  int i;
  lua_newtable(L);
  set_string(L, "script", c->script);
  set_string(L, "luajit", c->luajit);
  set_string(L, "os", c->os);
  set_string(L, "arch", c->arch);
  set_string(L, "options", c->options);
  set_string(L, "cwd", c->cwd);
  set_number(L, "pid", (double)c->pid);
  set_number(L, "started", c->started_at);
  set_number(L, "wall", mp_timer_wall() - c->wall0);
  set_number(L, "cpu", mp_timer_cpu() - c->cpu0);
  set_string(L, "capture", c->vm.proved ? "exact" : "safepoint");
  set_string(L, "capture_why", c->vm.why);
  lua_newtable(L);
  for (i = 0; i < MP_NOTES && c->notes[i] != NULL; i++) {
    lua_pushstring(L, c->notes[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "notes");
}

static void push_cpu(lua_State *L, mp_ctx *c)
{
  lua_newtable(L);
  set_bool(L, "enabled", c->timer || c->cpu_samples > 0);
  set_number(L, "samples", (double)c->cpu_samples);
  set_number(L, "interval", c->interval);
}

static void push_heap(lua_State *L, mp_ctx *c)
{
  double inuse = (double)mp_alloc_inuse(c), waiting = 0;
  double bytes = (double)mp_alloc_bytes(c);
  uint32_t id;
  for (id = c->waiting; id != 0; id = c->samples[id].next) waiting++;
  lua_newtable(L);
  set_bool(L, "enabled", true);
  set_number(L, "alloc_objects", (double)c->allocs);
  set_number(L, "alloc_bytes", bytes);
  set_number(L, "free_objects", (double)c->frees);
  set_number(L, "free_bytes", bytes - (inuse - (double)c->inuse0));
  set_number(L, "samples", (double)c->heap_samples);
  set_number(L, "dropped", (double)c->dropped + waiting);
  set_number(L, "period", c->exact ? 1 : c->period.mean);
  set_bool(L, "adaptive", c->period.adaptive);
  set_number(L, "inuse", inuse);
  set_number(L, "peak", (double)c->peak);
  if (c->vm.proved) set_number(L, "gc_cycles", (double)c->cycles);
}

static void push_frames(lua_State *L, const mp_stacks *s)
{
  static const char *const kinds[] = { "Lua", "C", "builtin", "pseudo" };
  uint32_t i;
  lua_createtable(L, (int)s->nframes, 0);
  for (i = 1; i <= s->nframes; i++) {
    const mp_frame *f = &s->frames[i];
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
    if (f->line > 0) set_number(L, "line", f->line);
    if (f->linedefined >= 0) set_number(L, "linedefined", f->linedefined);
    if (f->builtin != 0) set_number(L, "builtin", f->builtin);
    lua_rawseti(L, -2, (int)i);
  }
}

/* Arrays "parent" and, under the name given, what makes up a node. */
static void push_stacks(lua_State *L, const mp_stacks *s, const char *field,
			bool names)
{
  uint32_t i;
  lua_createtable(L, 0, 2);
  lua_createtable(L, (int)s->nnodes, 0);
  lua_createtable(L, (int)s->nnodes, 0);
  for (i = 1; i <= s->nnodes; i++) {
    const mp_frame *f = &s->frames[s->nodes[i].frame];
    lua_pushnumber(L, s->nodes[i].parent);
    lua_rawseti(L, -3, (int)i);
    if (names) lua_pushlstring(L, f->name, f->namelen);
    else lua_pushnumber(L, s->nodes[i].frame);
    lua_rawseti(L, -2, (int)i);
  }
  lua_setfield(L, -3, field);
  lua_setfield(L, -2, "parent");
}

static void push_rows(lua_State *L, const mp_counts *counts)
{
  uint32_t i;
  lua_createtable(L, (int)counts->nrows, 0);
  for (i = 1; i <= counts->nrows; i++) {
    const mp_row *r = &counts->rows[i];
    char state = (char)r->state;
    lua_createtable(L, 0, 8);
    set_number(L, "stack", r->stack);
    set_number(L, "zone", r->zone);
    lua_pushlstring(L, &state, 1);
    lua_setfield(L, -2, "state");
    set_number(L, "cpu", r->cpu);
    set_number(L, "alloc_objects", r->alloc_objects);
    set_number(L, "alloc_bytes", r->alloc_bytes);
    /* Sums of fractions that cancel leave a residue far below one. */
    set_number(L, "inuse_objects",
	       r->inuse_objects < 1e-3 ? 0 : r->inuse_objects);
    set_number(L, "inuse_bytes", r->inuse_bytes < 1e-3 ? 0 : r->inuse_bytes);
    lua_rawseti(L, -2, (int)i);
  }
}

void mp_snapshot(lua_State *L, mp_ctx *c)
{
  lua_createtable(L, 0, 8);
  set_number(L, "version", 1);
  push_info(L, c);
  lua_setfield(L, -2, "info");
  push_cpu(L, c);
  lua_setfield(L, -2, "cpu");
  push_heap(L, c);
  lua_setfield(L, -2, "heap");
  push_frames(L, &c->stacks);
  lua_setfield(L, -2, "frames");
  push_stacks(L, &c->stacks, "frame", false);
  lua_setfield(L, -2, "stacks");
  push_stacks(L, &c->zones, "name", true);
  lua_setfield(L, -2, "zones");
  push_rows(L, &c->counts);
  lua_setfield(L, -2, "rows");
}
