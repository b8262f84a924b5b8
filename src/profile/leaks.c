/* SPDX-License-Identifier: MIT */
/*
** See profile/leaks.h.
**
** A state that is being closed is left alone: the program's main chunk has
** returned, and what its locals held would go, though the program held it to
** its end. There the report goes by the last collection that was made.
*/
#include "config.h"

#include "profile/leaks.h"
#include "profile/point.h"

/* Twice: what finalizers let go is collected the second time. */
static int collect_twice(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

void mp_leaks_collect(mp_profile *p, lua_State *L)
{
  mp_alloc *h = &p->heap;
  if (!h->wants_leaks || h->collected) return;
  if (h->vm.proved && mp_vm_ontrace(&h->vm)) return;
  if (!lua_checkstack(L, 4)) return;
  h->collected = true;
  p->busy = true;
  lua_pushcfunction(L, collect_twice);
  if (lua_pcall(L, 0, 0, 0) != 0) lua_pop(L, 1);  /* A finalizer's error. */
  p->busy = false;
  h->kept.due = 0;  /* All that is in use now is held. */
  mp_alloc_flip(h);
  mp_held_end(&h->kept);
  mp_point_take(p, true);
}
