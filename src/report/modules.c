/* SPDX-License-Identifier: MIT */
/*
** See report/modules.h.
**
** The first directory is the one that holds the core's own modules. After it
** come those of the program's package.path, for modules of LuaJIT (jit.vmdef).
** All of them are absolute: the program may change its directory and its path.
*/
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/modules.h"

#include "lauxlib.h"

#define OURS	"jit.mp.plan"		/* A module that is there, */
#define FILENAME "jit/mp/plan.lua"	/* and its place. */

/* Pushes package.<field>, or nil. */
static void push_package(lua_State *L, const char *field)
{
  lua_getglobal(L, "package");
  if (lua_istable(L, -1)) lua_getfield(L, -1, field);
  else lua_pushnil(L);
  lua_remove(L, -2);
}

/* Pushes the path, whose relative elements get the directory in front. */
static void push_absolute(lua_State *L, const char *path, const char *cwd)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  while (*path != '\0') {
    size_t n = strcspn(path, ";");
    if (n > 0 && *path != '/') {
      luaL_addstring(&b, cwd);
      luaL_addchar(&b, '/');
    }
    luaL_addlstring(&b, path, n);
    path += n;
    if (*path == ';') luaL_addchar(&b, *path++);
  }
  luaL_pushresult(&b);
}

/* Pushes the pattern by which our modules are found in that path. False: pushes
** a message, there are none. */
static bool push_ours(lua_State *L, const char *path)
{
  const char *file;
  size_t n;
  push_package(L, "searchpath");
  lua_pushliteral(L, OURS);
  lua_pushstring(L, path);
  if (lua_pcall(L, 2, 1, 0) != 0 || !lua_isstring(L, -1)) return false;
  file = lua_tostring(L, -1);
  n = strlen(file) - strlen(FILENAME);
  if (strlen(file) < strlen(FILENAME) || strcmp(file + n, FILENAME) != 0)
    return false;
  lua_pushlstring(L, file, n);
  lua_pushliteral(L, "?.lua;");
  lua_concat(L, 2);
  lua_remove(L, -2);
  return true;
}

void mp_modules_path(lua_State *L)
{
  char *cwd = getcwd(NULL, 0);
  int top = lua_gettop(L);
  push_package(L, "path");
  lua_pushstring(L, cwd ? cwd : "");
  free(cwd);
  if (lua_isstring(L, -2))
    push_absolute(L, lua_tostring(L, -2), lua_tostring(L, -1));
  else
    lua_pushliteral(L, "");
  if (push_ours(L, lua_tostring(L, -1))) {
    lua_pushvalue(L, -2);
    lua_concat(L, 2);
  } else {
    lua_pop(L, 1);
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}
