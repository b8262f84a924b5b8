/*
** See lib/guard.h.
*/
#include "config.h"

#include "data/lock.h"
#include "lib/guard.h"
#include "out/write.h"
#include "profile/heapwalk.h"
#include "run/final.h"
#include "run/signal.h"
#include "sample/hook.h"

/* Registry keys. */
static char guard_key, anchor_key;

static mp_ctx **get_guard(lua_State *L)
{
  mp_ctx **guard;
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  guard = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return guard;
}

mp_ctx *mp_guard_get(lua_State *L)
{
  mp_ctx **guard = get_guard(L);
  return guard ? *guard : NULL;
}

int mp_guard_end(lua_State *L, mp_ctx *c, char *buf, size_t n)
{
  mp_ctx **guard = get_guard(L);
  bool removed;
  int err;
  if (guard != NULL) *guard = NULL;
  /* The report is made after the samplers were stopped. */
  mp_cpu_stop(&c->profile.cpu, L);
  removed = mp_hook_remove(&c->profile.heap, L);
  err = mp_final_report(c, buf, n);
  mp_lock();
  mp_ctx_delist(c);
  if (mp_ctx_list() == NULL) mp_signal_leave();
  mp_unlock();
  lua_pushlightuserdata(L, &anchor_key);
  lua_pushnil(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
  if (removed) mp_ctx_free(c);
  return err;
}

static int guard_gc(lua_State *L)
{
  mp_ctx **guard = lua_touserdata(L, 1), *c = *guard;
  char msg[512];
  *guard = NULL;
  if (c == NULL) return 0;
  mp_heapwalk_refresh(&c->profile, L, c->plan.walk, c->plan.walk_file,
		      MP_CLOSING);
  mp_signal_hold(true);
  if (mp_guard_end(L, c, msg, sizeof(msg)) != 0) mp_say(msg);
  mp_signal_release(true);
  return 0;
}

mp_ctx **mp_guard_make(lua_State *L)
{
  mp_ctx **guard = get_guard(L);
  if (guard != NULL) return guard;
  lua_pushlightuserdata(L, &guard_key);
  guard = lua_newuserdata(L, sizeof(*guard));
  *guard = NULL;
  lua_newtable(L);
  lua_pushcfunction(L, guard_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
  return guard;
}

/* What is done through the anchor touches no stack of the program. */
void mp_guard_anchor(lua_State *L, mp_ctx *c)
{
  lua_State *anchor;
  lua_pushlightuserdata(L, &anchor_key);
  anchor = lua_newthread(L);
  lua_rawset(L, LUA_REGISTRYINDEX);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jit.zone");
  if (lua_pcall(L, 1, 1, 0) != 0) {
    lua_pop(L, 1);
    lua_pushnil(L);
    mp_notes_add(&c->profile.notes,
		 "no zones: the module jit.zone cannot be loaded");
  }
  lua_checkstack(anchor, 4);
  lua_xmove(L, anchor, 1);
  mp_capture_anchor(&c->profile.capture, anchor);
}
