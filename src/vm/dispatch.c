/* SPDX-License-Identifier: MIT */
/*
** See vm/dispatch.h.
*/
#include "config.h"

#include <stdatomic.h>

#include "vm/dispatch.h"
#include "vm/layout.h"

#include "luajit.h"

#ifdef MP_LAYOUT

static uint32_t mask_ofs;	/* In a global state; 0: not known. */
static bool mode_jit;		/* The mode is known to have MODE_JIT. */

static void do_nothing(lua_State *L, lua_Debug *ar) { (void)L; (void)ar; }

/* The mask lies behind the empty string in the global state, and the mode
** behind the mask. */
void mp_dispatch_learn(const mp_vm *vm, lua_State *L)
{
  const volatile uint8_t *mask;
  uint8_t mask0, mode0;
  const char *text;
  bool both;
  lua_pushliteral(L, "");
  text = lua_tostring(L, -1);
  lua_pop(L, 1);
  if (text < vm->g || text >= vm->g + G_SEARCH) return;
  mask = (const volatile uint8_t *)text + EMPTY_HOOKMASK;
  mask0 = mask[0];
  mode0 = mask[MASK_MODE];
  lua_sethook(L, do_nothing, LUA_MASKCOUNT, 1 << 30);
  both = mask[0] == (mask0 | LUA_MASKCOUNT) &&
	 mask[MASK_MODE] == (mode0 | MODE_INS);
  lua_sethook(L, NULL, 0, 0);
  if (both && mask[0] == mask0 && mask[MASK_MODE] == mode0)
    mask_ofs = (uint32_t)((const char *)mask - vm->g);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  both = (mode0 & MODE_JIT) && mask[MASK_MODE] == (mode0 & ~MODE_JIT);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_ON);
  mode_jit = both && mask[MASK_MODE] == mode0;
}

bool mp_dispatch_jitoff(const mp_vm *vm)
{
  return mask_ofs != 0 && mode_jit && vm->proved &&
	 !(AT(const uint8_t, vm->g, mask_ofs + MASK_MODE) & MODE_JIT);
}

bool mp_dispatch_listens(const mp_vm *vm)
{
  return mask_ofs != 0 &&
	 !(AT(volatile uint8_t, vm->g, mask_ofs) & (HOOK_VMEVENT | HOOK_GC));
}

bool mp_dispatch_inevent(const mp_vm *vm)
{
  return mask_ofs != 0 && vm->proved &&
	 (AT(const uint8_t, vm->g, mask_ofs) & HOOK_VMEVENT) != 0;
}

/* Without the two bits LuaJIT's handler sets both, and writes all of the table.
** Until then the VM does not run. */
void mp_dispatch_renew(const mp_vm *vm)
{
  _Atomic uint8_t *mask = (void *)(vm->g + mask_ofs);
  uint8_t now = mask_ofs != 0 && vm->proved ? *mask : 0;
  if (!(now & HOOK_PROFILE) || (now & (HOOK_VMEVENT | HOOK_GC))) return;
  atomic_fetch_and(mask + MASK_MODE, (uint8_t)~MODE_PROF);
  atomic_fetch_and(mask, (uint8_t)~HOOK_PROFILE);
}

/* Setting the hook that is set makes LuaJIT write the table. */
bool mp_dispatch_ask(const mp_vm *vm)
{
  lua_State *L = (lua_State *)(uintptr_t)vm->mainl;
  _Atomic uint8_t *mask = (void *)(vm->g + mask_ofs);
  if (mask_ofs == 0 || !vm->proved) return false;
  if (*mask & (HOOK_PROFILE | HOOK_VMEVENT | HOOK_GC)) return true;
  atomic_fetch_or(mask, HOOK_PROFILE);
  lua_sethook(L, lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L));
  return true;
}

bool mp_dispatch_flip(const mp_vm *vm)
{
  _Atomic uint8_t *mask = (void *)(vm->g + mask_ofs);
  uint8_t now = mask_ofs != 0 && vm->proved ? *mask : 0;
  if (!(now & HOOK_VMEVENT) == !(now & HOOK_GC)) return false;
  atomic_fetch_xor(mask, HOOK_VMEVENT | HOOK_GC);
  return true;
}

#endif
