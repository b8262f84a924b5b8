/* SPDX-License-Identifier: MIT */
/*
** See profile/groups.h.
*/
#include "config.h"

#include <limits.h>

#include "profile/field.h"
#include "profile/groups.h"
#include "vm/bug.h"

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
    mp_notes_add(&p->notes, "no CPU samples while another Lua state has the "
		 "profiling timer: there is one in a thread");
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
  if (a->kind == NULL) return;
  mp_field_string(L, "trigger", a->kind);
  mp_field(L, "trigger_used", a->used);
  mp_field(L, "trigger_limit", a->most);
  mp_field_string(L, "trigger_of", a->of);
  if (a->at[0] != '\0') mp_field_string(L, "trigger_at", a->at);
}

static void push_info(lua_State *L, mp_profile *p)
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
  push_trigger(L, &p->trigger);
  if (!p->capture.lines) mp_field_bool(L, "no_lines", true);
  if (!mp_alloc_wants(p->heap)->types) mp_field_bool(L, "no_types", true);
  set_list(L, "command", (const char *const *)o->command, INT_MAX);
  note_ticks(p);
  if (p->capture.full)
    mp_notes_add(&p->notes, "the memory limit was reached: since then new "
		 "stacks, names and zones count as (other); option C raises "
		 "the limit");
  if (p->cpu.lines && mp_bug_found())
    mp_notes_add(&p->notes, "this LuaJIT has a bug in table lengths, which "
		 "lines bring out in few programs: if one misbehaves, use "
		 "option f, -O-fwd or a LuaJIT from after 20 May 2022");
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
  mp_field(L, "interval", c->interval);
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
  mp_field(L, "inuse", (double)now.inuse);
  mp_field(L, "inuse_samples", (double)mp_scope_live(scope, p));
  mp_field(L, "inuse_start", (double)now.inuse_start);
  mp_field(L, "peak", (double)mp_scope_peak(scope, p));
  if (mp_alloc_vm(h)->proved) mp_field(L, "gc_cycles", s->cycles);
  mp_field(L, "gc_looks", s->looks);
  mp_field(L, "gc_stopped", s->stopped);
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

void mp_groups_push(lua_State *L, mp_profile *p, const mp_scope *scope)
{
  static const mp_sums start;
  const mp_sums sums = mp_scope_sums(scope, p);
  lua_newtable(L);
  push_time(L, &p->span, &sums, !scope->window ? NULL :
	    scope->from == NULL ? &start : &scope->from->sums);
  push_info(L, p);
  lua_setfield(L, -2, "info");
  push_cpu(L, &p->cpu, &sums);
  lua_setfield(L, -2, "cpu");
  push_heap(L, p, scope, &sums);
  lua_setfield(L, -2, "heap");
  if (!mp_alloc_wants(p->heap)->events) return;
  push_types(L, &sums);
  lua_setfield(L, -2, "alloc_types");
}
