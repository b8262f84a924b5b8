/* SPDX-License-Identifier: MIT */
/*
** A host of LuaJIT that wants a command to open a file for it: where the module
** asks for a new file in memory it gets a descriptor of FILE, which says
** nothing but its name.
**
**   hostile RUNNING FILE
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static const char *file;

int memfd_create(const char *name, unsigned flags);

int memfd_create(const char *name, unsigned flags)
{
  (void)name; (void)flags;
  return open(file, O_PATH | O_CLOEXEC);
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  if (argc < 3) return 2;
  file = argv[2];
  luaL_openlibs(L);
  if (luaL_loadstring(L, "for i = 1, 1e4 do tostring(i) end") != 0) return 2;
  while (access(argv[1], F_OK) == 0) {
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 0, 0, 0) != 0) return 1;
  }
  return 0;
}
