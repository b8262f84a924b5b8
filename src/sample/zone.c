/* SPDX-License-Identifier: MIT */
/*
** Zones. See sample/zone.h.
*/
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sample/name.h"
#include "sample/zone.h"

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
