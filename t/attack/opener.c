/* SPDX-License-Identifier: MIT */
/*
** A program of three threads, for t/attack/disk.lua: one runs Lua, one loads
** and unloads a library again and again, one computes.
**
**   opener RUNNING LOADED COMPUTED
**
** It works until the file RUNNING has gone, and says whether its results are
** right. Every round the last two threads append a byte to their files.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#define PAUSE	5000		/* Microseconds between two rounds. */

static const char *running;
static volatile bool wrong;

static bool goes_on(void) { return access(running, F_OK) == 0; }

static void note(int fd)
{
  if (write(fd, ".", 1) != 1) wrong = true;
  usleep(PAUSE);
}

static int open_notes(const char *name)
{
  return open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void *load(void *name)
{
  int fd = open_notes(name);
  while (goes_on()) {
    void *library = dlopen("libz.so.1", RTLD_NOW);
    if (library != NULL) dlclose(library);
    note(fd);
  }
  close(fd);
  return NULL;
}

static void *compute(void *name)
{
  int fd = open_notes(name);
  while (goes_on()) {
    volatile unsigned long sum = 0;
    unsigned long i;
    for (i = 0; i < 100000; i++) sum += i % 7;
    if (sum != 299995) wrong = true;
    note(fd);
  }
  close(fd);
  return NULL;
}

static int has_ended(lua_State *L)
{
  lua_pushboolean(L, !goes_on());
  return 1;
}

static const char code[] =
  "local has_ended = ...\n"
  "repeat\n"
  "  local x, n = 0, 0\n"
  "  for i = 1, 1e5 do x = x + i % 7 end\n"
  "  for i = 1, 100 do n = n + #tostring(i) end\n"
  "  assert(x == 300000 and n == 192, 'another result')\n"
  "until has_ended()\n";

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  pthread_t loads, computes;
  if (argc < 4 || L == NULL) return 2;
  running = argv[1];
  luaL_openlibs(L);
  if (luaL_loadstring(L, code) != 0) return 2;
  if (pthread_create(&loads, NULL, load, argv[2]) != 0 ||
      pthread_create(&computes, NULL, compute, argv[3]) != 0)
    return 2;
  lua_pushcfunction(L, has_ended);
  if (lua_pcall(L, 1, 0, 0) != 0) {
    puts(lua_tostring(L, -1));
    wrong = true;
  }
  pthread_join(loads, NULL);
  pthread_join(computes, NULL);
  lua_close(L);
  puts(wrong ? "wrong" : "right");
  return wrong;
}
