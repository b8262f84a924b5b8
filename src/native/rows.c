/* SPDX-License-Identifier: MIT */
/*
** See native/rows.h.
*/
#include "config.h"

#include "native/native.h"
#include "native/rows.h"
#include "profile/field.h"
#include "profile/survivors.h"

/* Sums of fractions that cancel leave a residue far below one. */
static double whole(double n) { return n < 1e-3 ? 0 : n; }

/* Rows of C memory, after those of the profile; all refer to stacks and zones
** that the snapshot has. place: their numbers there; 0: it has none. */
static void push_native_rows(lua_State *L, const mp_native_sums *s,
			     const mp_extent *e, uint32_t *place)
{
  int at = (int)lua_objlen(L, -1);
  uint32_t i;
  for (i = 1; i <= s->n; i++) {
    const mp_row *r = &s->rows[i];
    char state = (char)r->state;
    place[i] = 0;
    if (r->stack > e->stacks || r->zone > e->zones) continue;
    place[i] = (uint32_t)++at;
    lua_createtable(L, 0, 15);
    mp_field(L, "stack", r->stack);
    mp_field(L, "zone", r->zone);
    lua_pushlstring(L, &state, 1);
    lua_setfield(L, -2, "state");
    mp_field(L, "cpu", 0);
    mp_field(L, "alloc_objects", 0);
    mp_field(L, "alloc_bytes", 0);
    mp_field(L, "inuse_objects", 0);
    mp_field(L, "inuse_bytes", 0);
    mp_field(L, "peak_objects", 0);
    mp_field(L, "peak_bytes", 0);
    mp_field(L, "native_objects", whole(r->alloc_objects));
    mp_field(L, "native_bytes", whole(r->alloc_bytes));
    mp_field(L, "native_inuse_objects", whole(r->inuse_objects));
    mp_field(L, "native_inuse_bytes", whole(r->inuse_bytes));
    if (r->alloc_variance >= 1)
      mp_field(L, "native_variance", r->alloc_variance);
    if (r->inuse_variance >= 1)
      mp_field(L, "native_inuse_variance", r->inuse_variance);
    lua_rawseti(L, -2, at);
  }
}

static void push_native(lua_State *L, const mp_native_sums *s)
{
  lua_createtable(L, 0, 6);
  mp_field_bool(L, "enabled", 1);
  mp_field(L, "samples", (double)s->taken);
  mp_field(L, "dropped", (double)s->dropped);
  mp_field(L, "inuse_samples", (double)s->live);
  mp_field(L, "period", s->period);
  mp_field_bool(L, "adaptive", s->adaptive);
}

/* The rows' places, for who has numbers of the sampler's. */
static void push_place(lua_State *L, const uint32_t *place, uint32_t n)
{
  uint32_t i;
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    lua_pushnumber(L, place[i]);
    lua_rawseti(L, -2, (int)i);
  }
}

typedef struct native_snapshot {
  const mp_native_sums *sums;
  const mp_extent *e;
  bool walk;			/* There is a heap walk. */
} native_snapshot;

static int push_native_all(lua_State *L)
{
  const native_snapshot *s = lua_touserdata(L, 2);
  uint32_t *place = lua_newuserdata(L, ((size_t)s->sums->n + 1) * 4);
  lua_getfield(L, 1, "rows");
  push_native_rows(L, s->sums, s->e, place);
  lua_pop(L, 1);
  push_native(L, s->sums);
  lua_setfield(L, 1, "native");
  if (s->walk) {
    push_place(L, place, s->sums->n);
    lua_setfield(L, 1, "native_place");
  }
  if (s->sums->kept.nrecords == 0) return 0;
  mp_survivors_push_records(L, &s->sums->kept);
  lua_setfield(L, 1, "native_records");
  mp_survivors_push_held(L, &s->sums->kept, s->sums->n, place);
  lua_setfield(L, 1, "native_held");
  return 0;
}

/* The copy is given back even if there is no memory for the tables. */
void mp_nativerows_add(lua_State *L, mp_profile *p, const mp_extent *e,
		       const mp_scope *scope)
{
  mp_native_sums sums;
  const native_snapshot s = {
    &sums, e, scope->walk != NULL || p->walk != NULL
  };
  int err;
  if (scope->window || !mp_native_sum(&p->capture, &sums)) return;
  lua_pushcfunction(L, push_native_all);
  lua_pushvalue(L, -2);
  lua_pushlightuserdata(L, (void *)&s);
  err = lua_pcall(L, 2, 0, 0);
  mp_native_sums_free(&sums);
  if (err != 0) lua_error(L);
}
