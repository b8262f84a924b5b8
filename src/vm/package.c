/* SPDX-License-Identifier: MIT */
/*
** See vm/package.h.
*/
#include "config.h"

#include <stddef.h>
#include <stdint.h>

#include "vm/package.h"

#include "lualib.h"

#define LOADERS_MAX	4

static struct {
  const char *key, *name;
  const void *f;
} named[] = {
  { "loadlib", "package.loadlib", NULL },
  { "searchpath", "package.searchpath", NULL },
  { "seeall", "package.seeall", NULL },
  { "require", "require", NULL },
  { "module", "module", NULL },
};

#define NAMED	(int)(sizeof(named) / sizeof(named[0]))

static const void *loaders[LOADERS_MAX];

/* The C function on top of the stack, or NULL. Pops it. */
static const void *pop_function(lua_State *L)
{
  const void *f = (const void *)(uintptr_t)lua_tocfunction(L, -1);
  lua_pop(L, 1);
  return f;
}

void mp_package_learn(lua_State *L)
{
  int i;
  lua_getglobal(L, LUA_LOADLIBNAME);
  for (i = 0; i < NAMED; i++) {
    lua_getfield(L, -1, named[i].key);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_getglobal(L, named[i].key);
    }
    named[i].f = pop_function(L);
  }
  lua_getfield(L, -1, "loaders");
  for (i = 0; i < LOADERS_MAX && lua_istable(L, -1); i++) {
    lua_rawgeti(L, -1, i + 1);
    loaders[i] = pop_function(L);
  }
  lua_pop(L, 2);
}

const char *mp_package_name(const void *f)
{
  int i;
  for (i = 0; i < LOADERS_MAX; i++)
    if (f != NULL && loaders[i] == f) return "(module loader)";
  for (i = 0; i < NAMED; i++)
    if (f != NULL && named[i].f == f) return named[i].name;
  return NULL;
}
