/* SPDX-License-Identifier: MIT */
/*
** Zones. See sample/zone.h.
*/
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sample/name.h"
#include "sample/zone.h"
#include "vm/layout.h"
#include "vm/peek.h"
#include "vm/variant.h"
#include "vm/vm.h"

#define ZONES_MAX	100	/* Zones in one another, at most. */

/* The name of the zone on top of the anchor's stack. */
static void zone_name(lua_State *Z, mp_frame *f, char buf[MP_NAME_MAX])
{
  *f = mp_name_none();
  f->kind = MP_ZONE;
  if (lua_type(Z, -1) == LUA_TSTRING) {
    size_t len;
    const char *s = lua_tolstring(Z, -1, &len);
    mp_name_set(f, s, len, buf);
  } else if (lua_type(Z, -1) == LUA_TNUMBER) {
    f->name = buf;
    f->namelen = (uint32_t)snprintf(buf, MP_NAME_MAX, "%.14g",
				    lua_tonumber(Z, -1));
  } else {
    const char *s = lua_typename(Z, lua_type(Z, -1));
    mp_name_set(f, s, strlen(s), buf);
  }
}

/* jit.zone keeps its stack in the array part of its own module table. */
uint32_t mp_zone_read(mp_stacks *zones, lua_State *Z)
{
  uint32_t zone = 0;
  int i, n;
  if (lua_type(Z, 1) != LUA_TTABLE || (n = (int)lua_objlen(Z, 1)) == 0)
    return 0;
  if (n > ZONES_MAX) n = ZONES_MAX;
  for (i = 1; i <= n && zone != MP_NONE; i++) {
    char buf[MP_NAME_MAX];
    uint32_t id;
    mp_frame f;
    lua_rawgeti(Z, 1, i);
    zone_name(Z, &f, buf);
    id = mp_stacks_frame(zones, &f);
    zone = id == MP_NONE ? MP_NONE : mp_stacks_push(zones, zone, id);
    lua_settop(Z, 1);
  }
  return zone;
}

/* -- While the table may be changing ------------------------------------- */

#ifdef MP_LAYOUT

/* Copies a string, which may be none, as far as names are kept. */
static bool peek_string(slot v, mp_frame *f, char text[MP_NAME_MAX],
			char buf[MP_NAME_MAX])
{
  slot head[STR_DATA / sizeof(slot)];
  uint32_t len, kept;
  if (!mp_peek(head, PTR(v), sizeof(head)) ||
      AT(uint8_t, head, OBJ_GCT) != GCT_STR)
    return false;
  len = AT(uint32_t, head, mp_variant_len());
  kept = len < MP_NAME_MAX ? len : MP_NAME_MAX;
  if (kept > 0 && !mp_peek(text, PTR(v) + STR_DATA, kept)) return false;
  mp_name_set(f, text, len, buf);
  return true;
}

uint32_t mp_zone_peek(mp_stacks *zones, const void *table)
{
  slot now[ZONES_MAX];
  size_t i, n, size;
  const slot *array = mp_vm_array(table, &size);
  uint32_t zone = 0;
  n = size / sizeof(slot) - (size > 0);  /* Lua counts from 1. */
  if (n > ZONES_MAX) n = ZONES_MAX;
  if (n > 0 && !mp_peek(now, array + 1, n * sizeof(slot))) return MP_NONE;
  for (i = 0; i < n && !IS_NIL(now[i]) && zone != MP_NONE; i++) {
    char text[MP_NAME_MAX], buf[MP_NAME_MAX];
    mp_frame f = mp_name_none();
    uint32_t id;
    f.kind = MP_ZONE;
    if (TAG(now[i]) != TAGSTR || !peek_string(now[i], &f, text, buf))
      return MP_NONE;
    id = mp_stacks_frame(zones, &f);
    zone = id == MP_NONE ? MP_NONE : mp_stacks_push(zones, zone, id);
  }
  return zone;
}

#else

uint32_t mp_zone_peek(mp_stacks *zones, const void *table)
{
  (void)zones; (void)table;
  return MP_NONE;
}

#endif
