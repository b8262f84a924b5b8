/* SPDX-License-Identifier: MIT */
/*
** Fields of the tables that a snapshot consists of.
*/
#ifndef MP_FIELD_H
#define MP_FIELD_H

#include <stdbool.h>

#include "lua.h"

/* Sets a field of the table on top of the stack to a number. */
static inline void mp_field(lua_State *L, const char *key, double n)
{
  lua_pushnumber(L, n);
  lua_setfield(L, -2, key);
}

/* Sets a field to a string; without one there is no field. */
static inline void mp_field_string(lua_State *L, const char *key,
				   const char *s)
{
  if (s == NULL) return;
  lua_pushstring(L, s);
  lua_setfield(L, -2, key);
}

static inline void mp_field_bool(lua_State *L, const char *key, bool b)
{
  lua_pushboolean(L, b);
  lua_setfield(L, -2, key);
}

#endif
