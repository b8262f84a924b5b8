/* SPDX-License-Identifier: MIT */
/*
** See vm/bug.h.
*/
#include "config.h"

#include <pthread.h>
#include <stddef.h>

#include "vm/bug.h"
#include "vm/own.h"

#include "lauxlib.h"

/* Without the bug the sum is 100. */
static const char code[] =
  "local a = { t = { 1, 2, 3, 4, 5, 6, 7, 8 } }\n"
  "a.u = a.t\n"
  "local sum = 0\n"
  "for i = 1, 100 do\n"
  "  local n = #a.t\n"
  "  a.u[n] = nil\n"
  "  sum = sum + n - #a.t\n"
  "  a.u[n] = n\n"
  "end\n"
  "return sum == 100\n";

static bool found, ffi_half_open;

static int run(lua_State *L)
{
  mp_own_open(L, &ffi_half_open);
  if (luaL_loadstring(L, code) != 0) return 0;
  lua_call(L, 0, 1);
  found = !lua_toboolean(L, -1);
  return 0;
}

static void try(void)
{
  lua_State *L = luaL_newstate();
  if (L == NULL) return;
  lua_cpcall(L, run, NULL);
  mp_own_close(L, ffi_half_open);
}

void mp_bug_try(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, try);
}

bool mp_bug_found(void) { return found; }
