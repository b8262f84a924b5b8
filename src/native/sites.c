/* SPDX-License-Identifier: MIT */
/*
** See native/sites.h.
*/
#include "config.h"

#include "native/sites.h"

#include "lauxlib.h"

#define SITES		32	/* Places, at most. */

/* Makes an allocator request memory from the system in all of its ways. */
static void exercise(lua_Alloc f, void *ud)
{
  enum { BLOCKS = 64, SIZE = 100 << 10, LARGE = 1 << 20 };
  void *blocks[BLOCKS], *p = f(ud, NULL, 0, LARGE), *q;
  int i;
  if (p != NULL && (q = f(ud, p, LARGE, 4 * LARGE)) != NULL) {
    p = f(ud, q, 4 * LARGE, 2 * LARGE);
    f(ud, p != NULL ? p : q, p != NULL ? 2 * LARGE : 4 * LARGE, 0);
  } else {
    f(ud, p, LARGE, 0);
  }
  for (i = 0; i < BLOCKS; i++) blocks[i] = f(ud, NULL, 0, SIZE);
  for (i = 0; i < BLOCKS; i++) f(ud, blocks[i], blocks[i] ? SIZE : 0, 0);
}

void mp_nativesites_learn(mp_port *port, lua_Alloc f, void *ud)
{
  static const void *sites[SITES];
  lua_State *L;
  port->note(sites, SITES);
  if ((L = luaL_newstate()) != NULL) {
    void *builtin;
    lua_Alloc allocf = lua_getallocf(L, &builtin);
    exercise(allocf, builtin);
    lua_close(L);
  }
  exercise(f, ud);
  port->nsites = port->note(NULL, 0);
  port->sites = sites;
}
