/* SPDX-License-Identifier: MIT */
/*
** See report/files.h.
*/
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "data/file.h"
#include "report/files.h"
#include "report/output.h"

#include "lauxlib.h"

static int failed(lua_State *L, const char *msg)
{
  lua_pushnil(L);
  lua_pushstring(L, msg);
  return 2;
}

/* read(path, max, below) */
static int files_read(lua_State *L)
{
  const char *path = luaL_checkstring(L, 1);
  lua_Number max = luaL_checknumber(L, 2);
  const char *below = luaL_optstring(L, 3, NULL);
  size_t size, n;
  char *buf;
  int err = mp_file_size(path, below, &size);
  if (err != 0) return failed(L, mp_file_error(err));
  if ((lua_Number)size > max) return failed(L, "too large a file");
  buf = lua_newuserdata(L, size + 1);
  err = mp_file_read(path, buf, size, &n);
  if (err != 0) return failed(L, mp_file_error(err));
  lua_pushlstring(L, buf, n);
  return 1;
}

static int files_width(lua_State *L)
{
  const mp_output out = { .path = NULL };
  int columns = mp_output_width(&out);
  if (columns == 0) return failed(L, "not a terminal");
  lua_pushinteger(L, columns);
  return 1;
}

static int files_directory(lua_State *L)
{
  char buf[PATH_MAX];
  if (getcwd(buf, sizeof(buf)) == NULL) return failed(L, strerror(errno));
  lua_pushstring(L, buf);
  return 1;
}

void mp_files_push(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "read", files_read },
    { "directory", files_directory },
    { "width", files_width },
    { NULL, NULL }
  };
  lua_newtable(L);
  luaL_register(L, NULL, functions);
}
