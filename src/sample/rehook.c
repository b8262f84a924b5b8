/* SPDX-License-Identifier: MIT */
/*
** See sample/rehook.h.
*/
#include "config.h"

#include <stddef.h>

#include "sample/rehook.h"

static struct {
  lua_State *volatile vm;	/* NULL: no hook is noted. */
  lua_Hook hook;
  int mask, count;
} noted;

/* LuaJIT calls back without hooks: a hook found now was set in between. */
void mp_rehook_note(lua_State *vm)
{
  int mask = lua_gethookmask(vm);
  if (mask == 0) return;
  noted.vm = NULL;
  noted.hook = lua_gethook(vm);
  noted.mask = mask;
  noted.count = lua_gethookcount(vm);
  __sync_synchronize();
  noted.vm = vm;
}

/* The callback may not have returned yet: the hook stays noted until it is
** seen in its place, or gone. LuaJIT keeps the function without its mask. */
void mp_rehook_set(void)
{
  lua_State *vm = noted.vm;
  if (vm == NULL) return;
  if (lua_gethook(vm) != noted.hook ||
      (lua_gethookmask(vm) & noted.mask) == noted.mask)
    noted.vm = NULL;
  else
    lua_sethook(vm, noted.hook, noted.mask, noted.count);
}

void mp_rehook_forget(void) { noted.vm = NULL; }
