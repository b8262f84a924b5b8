/* SPDX-License-Identifier: MIT */
/*
** See profile/survivors.h.
*/
#include "config.h"

#include <string.h>

#include "profile/field.h"
#include "profile/survivors.h"

/* -- Survivors of collections, by row -------------------------------------- */

void mp_survivors_push_records(lua_State *L, const mp_held *h)
{
  uint32_t i;
  lua_createtable(L, (int)h->nrecords, 0);
  for (i = 0; i < h->nrecords; i++) {
    lua_createtable(L, 0, 3);
    mp_field(L, "wall", h->records[i].wall);
    mp_field(L, "allocated", h->records[i].allocated);
    mp_field(L, "cycle", (double)h->records[i].cycle);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

/* A sum of additions and subtractions may be a little less than zero. */
static double not_negative(double n) { return n > 0 ? n : 0; }

void mp_survivors_push_held(lua_State *L, const mp_held *h, uint32_t rows,
			    const uint32_t *place)
{
  uint32_t i;
  int n = 0;
  lua_createtable(L, (int)h->nentries, 0);
  for (i = 0; i < h->nentries; i++) {
    const mp_held_entry *e = &h->entries[i];
    uint32_t row = e->row > rows ? 0 : place != NULL ? place[e->row] : e->row;
    if (row == 0) continue;
    lua_createtable(L, 0, 5);
    mp_field(L, "collection", e->record + 1);
    mp_field(L, "row", row);
    mp_field(L, "objects", not_negative(e->objects));
    mp_field(L, "bytes", not_negative(e->bytes));
    mp_field(L, "variance", not_negative(e->variance));
    lua_rawseti(L, -2, ++n);
  }
}

/* -- Ages ----------------------------------------------------------------- */

typedef struct counting {
  mp_survived *s;		/* By row. */
  uint32_t rows;
} counting;

static void count(void *data, const mp_sample *o)
{
  const counting *c = data;
  if (o->row > c->rows) return;
  c->s[o->row].objects += o->objects;
  c->s[o->row].births += o->objects * (double)o->birth / 1000;
}

void mp_survivors_count(const mp_alloc *h, mp_survived *s, uint32_t rows)
{
  counting c = { s, rows };
  mp_alloc_each_survivor(h, count, &c);
}

/* The same, in memory that is pushed. */
static const mp_survived *count_survived(lua_State *L, const mp_alloc *h,
					 uint32_t rows)
{
  size_t size = ((size_t)rows + 1) * sizeof(mp_survived);
  mp_survived *s = memset(lua_newuserdata(L, size), 0, size);
  mp_survivors_count(h, s, rows);
  return s;
}

static void push_survivors(lua_State *L, const mp_survived *s, uint32_t rows)
{
  int n = 0;
  uint32_t i;
  lua_newtable(L);
  for (i = 1; i <= rows; i++) {
    if (s[i].objects <= 0) continue;
    lua_createtable(L, 0, 3);
    mp_field(L, "row", i);
    mp_field(L, "objects", s[i].objects);
    mp_field(L, "births", s[i].births);
    lua_rawseti(L, -2, ++n);
  }
}

void mp_survivors_push(lua_State *L, mp_alloc *h, uint32_t rows,
		       const mp_survived *survived)
{
  const mp_held *held = mp_alloc_survivors(h);
  mp_survivors_push_records(L, held);
  lua_setfield(L, -2, "collections");
  mp_survivors_push_held(L, held, rows, NULL);
  lua_setfield(L, -2, "held");
  if (survived != NULL) lua_pushnil(L);
  else survived = count_survived(L, h, rows);
  push_survivors(L, survived, rows);
  lua_setfield(L, -3, "survivors");
  lua_pop(L, 1);
}
