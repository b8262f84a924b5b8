/* SPDX-License-Identifier: MIT */
/*
** See profile/eventlist.h.
*/
#include "config.h"

#include "profile/eventlist.h"
#include "profile/field.h"

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

void mp_eventlist_push(lua_State *L, const mp_profile *p, const mp_extent *e)
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
