/* SPDX-License-Identifier: MIT */
/*
** See sample/rehook.h.
*/
#include "config.h"

#include <stddef.h>

#include "sample/rehook.h"

/* LuaJIT calls back without hooks: a hook found now was set in between. */
void mp_rehook_note(mp_rehook *r, lua_State *vm)
{
  int mask = lua_gethookmask(vm);
  if (mask == 0) return;
  r->vm = NULL;
  r->hook = lua_gethook(vm);
  r->mask = mask;
  r->count = lua_gethookcount(vm);
  __sync_synchronize();
  r->vm = vm;
}

/* The callback may not have returned yet: the hook stays noted until it is
** seen in its place, or gone. LuaJIT keeps the function without its mask. */
void mp_rehook_set(mp_rehook *r)
{
  lua_State *vm = r->vm;
  if (vm == NULL) return;
  if (lua_gethook(vm) != r->hook ||
      (lua_gethookmask(vm) & r->mask) == r->mask)
    r->vm = NULL;
  else
    lua_sethook(vm, r->hook, r->mask, r->count);
}

void mp_rehook_forget(mp_rehook *r) { r->vm = NULL; }
