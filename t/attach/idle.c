/* SPDX-License-Identifier: MIT */
/*
** A host of LuaJIT with two threads that runs Lua code while a file is there,
** and otherwise waits for events:
**
**   idle RUNNING BUSY RESTING [seldom]
**
** While it waits there is a file RESTING. It ends when the file RUNNING has
** gone. With `seldom`, nearly all of its time is its own.
*/
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
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

/* 5 ms of CPU time. */
static void spin(void)
{
  clock_t end = clock() + CLOCKS_PER_SEC / 200;
  while (clock() < end) continue;
}

/* One round. False: the code failed. */
static int work(lua_State *L, const char *busy, const char *resting, int seldom)
{
  static const char much[] =
    "local t = {} for i = 1, 1e5 do t[i % 10 + 1] = { i } end";
  static const char little[] = "local t = {} for i = 1, 1e3 do t[1] = {} end";
  FILE *f;
  if (access(busy, F_OK) == 0) {
    remove(resting);
    if (seldom) spin();
    return luaL_dostring(L, seldom ? little : much) == 0;
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
    if (!work(L, argv[2], argv[3], argc > 4)) return 1;
    epoll_wait(events, &event, 1, 20);
  }
  lua_close(L);
  puts("right");
  return 0;
}
