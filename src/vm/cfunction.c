/* SPDX-License-Identifier: MIT */
/*
** See vm/cfunction.h.
**
** A C function's object points to the instruction by which it is called. There
** is one for LuaJIT's own functions in the global state, and behind it one for
** others, which a wrapper changes.
*/
#include "config.h"

#include <stdint.h>

#include "vm/cfunction.h"
#include "vm/layout.h"

#ifdef MP_LAYOUT

static bool is_cfunction(const void *object)
{
  return AT(uint8_t, object, OBJ_GCT) == GCT_FUNC &&
	 AT(uint8_t, object, FUNC_FFID) != 0;
}

bool mp_cfunction_unwrap(void *ours, lua_CFunction f, const void *theirs)
{
  const uint32_t *direct;
  if (!is_cfunction(ours) || !is_cfunction(theirs) ||
      AT(lua_CFunction, ours, FUNC_C) != f)
    return false;
  direct = REF(const uint32_t *, theirs, FUNC_PC);
  if (REF(const uint32_t *, ours, FUNC_PC) != direct + 1) return false;
  SET_REF(ours, FUNC_PC, direct);
  return true;
}

#endif
