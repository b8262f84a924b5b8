/*
** Leaks: before the report everything is collected that can be, so that what
** is in use then is held by something.
**
** A state that is being closed is left alone: the program's main chunk has
** returned, and what its locals held would go, though the program held it to
** its end. There the report goes by the last collection that was made.
*/
#include "config.h"

#include "profile/ctx.h"

/* Twice: what finalizers let go is collected the second time. */
static int collect_twice(lua_State *L)
{
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}

void mp_leaks_collect(mp_ctx *c, lua_State *L)
{
  if (!c->wants_leaks || c->collected) return;
  if (c->vm.proved && mp_vm_ontrace(&c->vm)) return;
  if (!lua_checkstack(L, 4)) return;
  c->collected = true;
  c->busy = true;
  lua_pushcfunction(L, collect_twice);
  if (lua_pcall(L, 0, 0, 0) != 0) lua_pop(L, 1);  /* A finalizer's error. */
  c->busy = false;
  mp_point_take(c, true);
}

bool mp_leaks_judged(const mp_ctx *c, const mp_sample *s)
{
  uint64_t done = c->cycles;
  if (c->collected) return true;
  if (!c->vm.proved) return false;
  if (done > 0 && mp_vm_phase(&c->vm) == 's') done--;
  return s->cycle < done;
}
