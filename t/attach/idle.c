/* SPDX-License-Identifier: MIT */
/*
** A host of LuaJIT with two threads that runs Lua code while a file is there,
** and otherwise waits for events:
**
**   idle RUNNING BUSY RESTING
**
** While it waits there is a file RESTING. It ends when the file RUNNING has
** gone.
*/
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static void *rest(void *data)
{
  (void)data;
  for (;;) pause();
  return NULL;
}

/* One round. False: the code failed. */
static int work(lua_State *L, const char *busy, const char *resting)
{
  static const char code[] =
    "local t = {} for i = 1, 1e5 do t[i % 10 + 1] = { i } end";
  FILE *f;
  if (access(busy, F_OK) == 0) {
    remove(resting);
    return luaL_dostring(L, code) == 0;
  }
  if ((f = fopen(resting, "w")) != NULL) fclose(f);
  return 1;
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  struct epoll_event event;
  int events = epoll_create1(0);
  pthread_t thread;
  if (argc < 4 || pthread_create(&thread, NULL, rest, NULL) != 0) return 2;
  luaL_openlibs(L);
  while (access(argv[1], F_OK) == 0) {
    if (!work(L, argv[2], argv[3])) return 1;
    epoll_wait(events, &event, 1, 20);
  }
  lua_close(L);
  puts("right");
  return 0;
}
