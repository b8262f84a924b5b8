/* SPDX-License-Identifier: MIT */
/*
** See profile/leaks.h.
**
** A state that is being closed is not collected: the program's main chunk has
** returned, so objects that its locals held would be freed. Nor is one in a
** handler of jit.attach: nothing holds the function that LuaJIT has called it
** for. Then the report uses the last collection that was made.
*/
#include "config.h"

#include "profile/leaks.h"
#include "profile/point.h"
#include "vm/dispatch.h"

/* The second collection takes the objects that finalizers let go. */
static int collect_twice(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

/* Pushes the function without sampling it, and without a step of the collector,
** in which the error of a finalizer would have no handler. */
static void push_collect(mp_alloc *h, lua_State *L)
{
  bool paused;
  lua_gc(L, LUA_GCSTOP, 0);
  paused = mp_alloc_pause(h);
  lua_pushcfunction(L, collect_twice);
  mp_alloc_resume(h, paused);
}

void mp_leaks_collect(mp_profile *p, lua_State *L)
{
  mp_alloc *h = p->heap;
  const mp_vm *vm = mp_alloc_vm(h);
  if (!mp_alloc_wants(h)->leaks || mp_alloc_was_collected(h)) return;
  if (vm->proved && mp_vm_ontrace(vm)) return;
  if (mp_dispatch_inevent(vm) || !lua_checkstack(L, 4)) return;
  mp_point_force(p);  /* All that was in use; the collections take time. */
  p->collected_after = mp_cpu_time(&p->cpu);
  mp_alloc_collecting(h);
  p->busy = true;
  push_collect(h, L);
  if (lua_pcall(L, 0, 0, 0) != 0) lua_pop(L, 1);  /* A finalizer's error. */
  p->busy = false;
  mp_alloc_collected(h);
}
