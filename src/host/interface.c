/* SPDX-License-Identifier: MIT */
/*
** See host/interface.h.
*/
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/interface.h"
#include "lauxlib.h"
#include "luajit-mp.h"

/* -- The module ----------------------------------------------------------- */

/* Pushes what require returns, or a message. */
static bool require(lua_State *L, const char *name)
{
  lua_getglobal(L, "require");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "the state has no function require: call "
		    "luaL_openlibs first");
    return false;
  }
  lua_pushstring(L, name);
  return lua_pcall(L, 1, 1, 0) == 0;
}

/* Puts a pattern before a path of the table package, at index 1. Leaves the
** path as it was on the stack. */
static void prepend(lua_State *L, const char *field, const char *pattern)
{
  lua_getfield(L, 1, field);
  lua_pushstring(L, pattern);
  lua_pushliteral(L, ";");
  lua_pushvalue(L, -3);
  lua_concat(L, 3);
  lua_setfield(L, 1, field);
}

/* require(name) with the directories of the installation; the paths are put
** back. Upvalue 1: the name. */
static int require_installed(lua_State *L)
{
  bool ok;
  lua_settop(L, 0);
  lua_getglobal(L, "package");
  luaL_checktype(L, 1, LUA_TTABLE);
  prepend(L, "path", MP_LUADIR "/?.lua");
  prepend(L, "cpath", MP_CMODDIR "/?.so");
  ok = require(L, lua_tostring(L, lua_upvalueindex(1)));
  lua_insert(L, 2);
  lua_setfield(L, 1, "cpath");
  lua_setfield(L, 1, "path");
  return ok ? 1 : lua_error(L);
}

/* Pushes the module that require finds by the paths of the program, or else in
** the installation of this library. Raises Lua errors. */
static void module_push(lua_State *L, const char *name)
{
  luaL_checkstack(L, 8, "too many values");
  if (require(L, name)) return;
  lua_pushstring(L, name);
  lua_pushcclosure(L, require_installed, 1);
  if (lua_pcall(L, 0, 1, 0) == 0) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);  /* What the program's paths give says more. */
  lua_error(L);
}

/* -- Functions ------------------------------------------------------------ */

#define EXPORTED __attribute__((visibility("default")))

/* The name by which the core knows a writer. */
#define WRITER	"jit.mp.writer"

static _Thread_local char message[512];

typedef struct request {
  const char *function;		/* Of jit.mp. */
  const char *what;		/* Its arguments, or NULL. */
  const luajit_mp_writer *writer;
  int err;
} request;

static void set_message(const char *text)
{
  if (text == NULL) text = "an error without a message";
  if (strncmp(text, "jit.mp: ", 8) == 0) text += 8;
  snprintf(message, sizeof(message), "%s", text);
}

/* Pushes what stands between the commas. Returns how many parts. */
static int push_parts(lua_State *L, const char *what)
{
  int n = 1;
  const char *comma;
  for (; (comma = strchr(what, ',')) != NULL; what = comma + 1, n++) {
    luaL_checkstack(L, 4, "too many outputs");
    lua_pushlstring(L, what, (size_t)(comma - what));
  }
  lua_pushstring(L, what);
  return n;
}

static void push_writer(lua_State *L, const luajit_mp_writer *writer)
{
  luajit_mp_writer *w = lua_newuserdata(L, sizeof(*w));
  *w = *writer;
  luaL_newmetatable(L, WRITER);
  lua_setmetatable(L, -2);
}

/* The module's functions return nil, a message and a number if they fail, and
** false where the options were to be printed. */
static int call_module(lua_State *L)
{
  request *r = lua_touserdata(L, 1);
  int n = 0;
  module_push(L, "jit.mp");
  lua_getfield(L, -1, r->function);
  if (r->what != NULL) n = push_parts(L, r->what);
  if (r->writer != NULL) {
    push_writer(L, r->writer);
    n++;
  }
  lua_call(L, n, 3);
  if (lua_toboolean(L, -3)) return 0;
  if (lua_isnil(L, -3)) {
    set_message(lua_tostring(L, -2));
    r->err = (int)lua_tointeger(L, -1);
  } else {
    set_message("option H prints the options, and starts no profile");
  }
  if (r->err == 0) r->err = -1;
  return 0;
}

/* LuaJIT makes room on the stack for what is called, and keeps some more for
** the call itself: none of the program's is needed. */
static int call(lua_State *L, request r)
{
  if (r.writer != NULL && r.writer->write == NULL) {
    set_message("the writer has no function write");
    return EINVAL;
  }
  if (lua_cpcall(L, call_module, &r) == 0) return r.err;
  set_message(lua_tostring(L, -1));
  lua_pop(L, 1);
  return -1;
}

#define FUNCTIONS	"f"	/* The options, if none are given. */

EXPORTED int luajit_mp_start(lua_State *L, const char *what,
			     const luajit_mp_writer *w)
{
  return call(L, (request){ "start", what != NULL ? what : FUNCTIONS, w, 0 });
}

EXPORTED int luajit_mp_write(lua_State *L, const char *what,
			     const luajit_mp_writer *w)
{
  return call(L, (request){ "report", what != NULL ? what : FUNCTIONS, w, 0 });
}

EXPORTED int luajit_mp_window(lua_State *L, const char *outputs,
			      const luajit_mp_writer *w)
{
  return call(L, (request){ "window", outputs, w, 0 });
}

EXPORTED int luajit_mp_stop(lua_State *L)
{
  return call(L, (request){ "stop", NULL, NULL, 0 });
}

EXPORTED const char *luajit_mp_error(void)
{
  return message;
}
