/* A program in C that profiles its Lua state, and keeps the report itself.
**
**   cc host.c $(pkg-config --cflags --libs luajit-mp) -o host
**   ./host app.lua f,report.txt       writes the file
**   ./host app.lua f,report.txt -     takes the report and prints its size
*/
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit-mp.h>
#include <lualib.h>

static int count(void *ctx, const char *name, const void *data, size_t size)
{
  (void)data;
  printf("%s: %s\n", name, size > 0 ? "a report" : "nothing");
  ++*(int *)ctx;
  return 0;
}

static void stopped(void *ctx, int err)
{
  printf("%d reports, error %d\n", *(int *)ctx, err);
}

static int check(int err)
{
  if (err != 0) fprintf(stderr, "host: %s\n", luajit_mp_error());
  return err;
}

static int profile(lua_State *L, char **argv, const luajit_mp_writer *writer)
{
  if (check(luajit_mp_start(L, argv[2], writer)) != 0) return 1;
  if (luaL_dofile(L, argv[1]) != 0)
    fprintf(stderr, "host: %s\n", lua_tostring(L, -1));
  return check(luajit_mp_stop(L)) != 0;
}

int main(int argc, char **argv)
{
  int reports = 0, status;
  luajit_mp_writer writer = { count, stopped, &reports };
  lua_State *L;
  if (argc < 3) return fprintf(stderr, "usage: host SCRIPT OPTIONS [-]\n"), 2;
  L = luaL_newstate();
  if (L == NULL) return 1;
  luaL_openlibs(L);
  status = profile(L, argv, argc > 3 ? &writer : NULL);
  lua_close(L);
  return status;
}
