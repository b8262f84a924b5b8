/* SPDX-License-Identifier: MIT */
/*
** See module/heap.h. Both functions work with and without a profile.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heapwalk/dot.h"
#include "heapwalk/paths.h"
#include "heapwalk/walk.h"
#include "heapwalk/why.h"
#include "module/arguments.h"
#include "module/guard.h"
#include "module/heap.h"
#include "report/output.h"

#include "lauxlib.h"

/* Defaults: */
#define REFERENCES	20	/* references that `why` lists; */
#define PATHS		20	/* paths that `paths` lists; */
#define DEPTH		3	/* references from the value that `dot` */
				/* draws. */

/* The profile that is under way in this process; or NULL. */
static mp_profile *profile(lua_State *L)
{
  mp_ctx *c = mp_guard_running(L);
  return c != NULL ? &c->profile : NULL;
}

/* Calls the upvalue with the arguments on the stack. Its allocations count as
** the profiler's. */
static int call_frozen(lua_State *L)
{
  mp_profile *p = profile(L);
  bool paused;
  int err;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  paused = p != NULL && mp_alloc_pause(p->heap);
  err = lua_pcall(L, lua_gettop(L) - 1, 1, 0);
  if (p != NULL) mp_alloc_resume(p->heap, paused);
  return err;
}

static int push_walk(lua_State *L)
{
  mp_heapwalk_push(L, lua_touserdata(L, 1), NULL);
  return 1;
}

static int fail_because(lua_State *L, const char *why)
{
  char msg[256];
  snprintf(msg, sizeof(msg), "no heap walk: %s", why);
  return mp_fail(L, msg, ENOTSUP);
}

/* Writes the .heapsnapshot. */
static int write_file(lua_State *L, const char *name, const mp_heapwalk *w)
{
  char msg[512], shown[MP_NAME_SIZE];
  int err = mp_output_put(name, w->file, w->filelen);
  if (err == 0) return 0;
  snprintf(msg, sizeof(msg), "cannot write '%s': %s",
	   mp_output_name(shown, name), mp_output_error(err));
  return mp_fail(L, msg, err);
}

/* heap([share [, file]]) */
static int core_heap(lua_State *L)
{
  const char *name = luaL_optstring(L, 2, NULL);
  mp_heaprequest request = {
    .share = luaL_optnumber(L, 1, 0.01), .file = name != NULL
  };
  mp_heapwalk *w;
  int err;
  luaL_argcheck(L, request.share > 0 && request.share <= 1, 1,
		"a share of the heap is more than 0 and at most 1");
  w = mp_heapwalk_take(profile(L), L, &request);
  if (w == NULL) return mp_fail(L, "not enough memory", ENOMEM);
  if (w->why != NULL) {
    fail_because(L, w->why);
    mp_heapwalk_free(w);
    return 3;
  }
  if (name != NULL && write_file(L, name, w) != 0) {
    mp_heapwalk_free(w);
    return 3;
  }
  mp_heapwalk_nofile(w);
  lua_settop(L, 0);
  lua_pushlightuserdata(L, w);
  err = call_frozen(L);
  mp_heapwalk_free(w);
  return err != 0 ? lua_error(L) : 1;
}

/* Returns an answer to Lua, with its metatable, or why there is none, and frees
** it. most goes to the function that pushes the answer. */
static int give(lua_State *L, void *answer, const char *why, double most,
		void (*release)(void *answer))
{
  int err;
  if (why != NULL) {
    fail_because(L, why);
    release(answer);
    return 3;
  }
  lua_settop(L, 0);
  lua_pushlightuserdata(L, answer);
  lua_pushnumber(L, most);
  err = call_frozen(L);
  release(answer);
  if (err != 0) return lua_error(L);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_setmetatable(L, -2);
  return 1;
}

static void free_why(void *answer) { mp_heapwhy_free(answer); }

static void free_paths(void *answer) { mp_heappaths_free(answer); }

static int push_why(lua_State *L)
{
  mp_heapwhy_push(L, lua_touserdata(L, 1), (uint32_t)lua_tonumber(L, 2));
  return 1;
}

/* why(value [, references]) */
static int core_why(lua_State *L)
{
  double most = luaL_optnumber(L, 2, REFERENCES);
  mp_heapwhy *w;
  luaL_checkany(L, 1);
  luaL_argcheck(L, most >= 0 && most <= 1e9, 2, "a number of references");
  w = mp_heapwhy_ask(L, 1);
  if (w == NULL) return mp_fail(L, "not enough memory", ENOMEM);
  return give(L, w, w->why, most, free_why);
}

static int push_paths(lua_State *L)
{
  mp_heappaths_push(L, lua_touserdata(L, 1));
  return 1;
}

/* paths(value [, most]) */
static int core_paths(lua_State *L)
{
  double most = luaL_optnumber(L, 2, PATHS);
  mp_heappaths *w;
  luaL_checkany(L, 1);
  luaL_argcheck(L, most >= 1 && most <= 1e6, 2,
		"a number of paths from 1 to 1000000");
  w = mp_heappaths_find(L, 1, (uint32_t)most);
  if (w == NULL) return mp_fail(L, "not enough memory", ENOMEM);
  return give(L, w, w->why, most, free_paths);
}

static int push_text(lua_State *L)
{
  lua_pushlstring(L, lua_touserdata(L, 1), (size_t)lua_tonumber(L, 2));
  return 1;
}

/* dot(value [, depth]) */
static int core_dot(lua_State *L)
{
  double depth = luaL_optnumber(L, 2, DEPTH);
  const char *why;
  size_t len;
  char *text;
  int err;
  luaL_checkany(L, 1);
  luaL_argcheck(L, depth >= 0 && depth <= 1000, 2,
		"a depth from 0 to 1000");
  text = mp_heapdot_make(L, 1, (unsigned)depth, &len, &why);
  if (text == NULL) return fail_because(L, why);
  lua_settop(L, 0);
  lua_pushlightuserdata(L, text);
  lua_pushnumber(L, (double)len);
  err = call_frozen(L);
  free(text);
  return err != 0 ? lua_error(L) : 1;
}

/* Adds a function, and the metatable of its results, which jit.mp fills in. */
static void add_question(lua_State *L, lua_CFunction f, lua_CFunction push,
			 const char *name)
{
  lua_pushcfunction(L, push);
  lua_newtable(L);
  lua_pushfstring(L, "%s_result", name);
  lua_pushvalue(L, -2);
  lua_settable(L, -5);
  lua_pushcclosure(L, f, 2);
  lua_setfield(L, -2, name);
}

void mp_heap_functions(lua_State *L)
{
  lua_pushcfunction(L, push_walk);
  lua_pushcclosure(L, core_heap, 1);
  lua_setfield(L, -2, "heap");
  add_question(L, core_why, push_why, "why");
  add_question(L, core_paths, push_paths, "paths");
  lua_pushcfunction(L, push_text);
  lua_pushcclosure(L, core_dot, 1);
  lua_setfield(L, -2, "dot");
}
