/*
** Leaks: before the report everything is collected that can be, so that what
** is in use then is held by something.
**
** A program that runs to its end has dropped the locals of its main chunk by
** the time that its state is closed, and with them what they held. So a
** return hook watches for the end of the main chunk. It costs interpreted
** code a little at each return, and is there only where leaks are asked for.
*/
#include "config.h"

#include "mp.h"

#include "lauxlib.h"

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
  if (c->vm.proved && mp_vm_ontrace(&c->vm)) {
    mp_ctx_note(c, "no full collection before the end: the program ended "
		   "inside compiled code");
    return;
  }
  c->collected = true;
  if (!lua_checkstack(L, 4)) return;
  lua_pushcfunction(L, collect_twice);
  if (lua_pcall(L, 0, 0, 0) != 0) lua_pop(L, 1);  /* A finalizer's error. */
  mp_point_take(c, true);
}

/* -- The end of the main chunk ------------------------------------------- */

static void on_return(lua_State *L, lua_Debug *ar)
{
  lua_Debug below;
  mp_ctx *c;
  if (lua_getstack(L, 2, &below)) return;  /* Below it: what called it, in C. */
  if (!lua_getinfo(L, "S", ar) || ar->what[0] != 'm') return;
  for (c = mp_end_list(); c != NULL; c = c->next)
    if (c->hooked == L) {
      c->hooked = NULL;
      lua_sethook(L, NULL, 0, 0);
      mp_leaks_collect(c, L);
      return;
    }
}

void mp_leaks_watch(mp_ctx *c, lua_State *L)
{
  if (!c->wants_leaks || lua_gethook(L) != NULL) return;
  c->hooked = L;
  lua_sethook(L, on_return, LUA_MASKRET, 0);
}

void mp_leaks_unwatch(mp_ctx *c, lua_State *L)
{
  if (c->hooked != NULL && lua_gethook(L) == on_return)
    lua_sethook(L, NULL, 0, 0);
  c->hooked = NULL;
}
