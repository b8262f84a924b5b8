/* SPDX-License-Identifier: MIT */
/*
** Fields of the tables that a snapshot consists of.
*/
#ifndef MP_FIELD_H
#define MP_FIELD_H

#include "lua.h"

/* Sets a field of the table on top of the stack to a number. */
static inline void mp_field(lua_State *L, const char *key, double n)
{
  lua_pushnumber(L, n);
  lua_setfield(L, -2, key);
}

#endif
