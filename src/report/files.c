/* SPDX-License-Identifier: MIT */
/*
** See report/files.h.
*/
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
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

/* Whether luajit's parser refuses a file, in a state of its own: the program's
** heap stays as it is. */
static bool refused(const char *path)
{
  lua_State *R = luaL_newstate();
  int status = R != NULL ? luaL_loadfile(R, path) : 0;
  if (R != NULL) lua_close(R);
  return status != 0 && status != LUA_ERRMEM;
}

/* cannot_run(script): whether luajit will say so of a script. Only files are
** opened, since a pipe can be read only once. */
static int files_cannot_run(lua_State *L)
{
  const char *path = luaL_checkstring(L, 1);
  struct stat st;
  if (stat(path, &st) != 0)
    lua_pushboolean(L, errno == ENOENT);
  else
    lua_pushboolean(L, S_ISDIR(st.st_mode) ||
		       (S_ISREG(st.st_mode) && refused(path)));
  return 1;
}

void mp_files_push(lua_State *L)
{
  static const luaL_Reg functions[] = {
    { "read", files_read },
    { "directory", files_directory },
    { "width", files_width },
    { "cannot_run", files_cannot_run },
    { NULL, NULL }
  };
  lua_newtable(L);
  luaL_register(L, NULL, functions);
}
