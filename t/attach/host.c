/* SPDX-License-Identifier: MIT */
/*
** A program in C with a Lua state in each of some threads, or in its only one:
**
**   host FILE [NAME]...
**
** Each state runs a function of that name for a moment, and rests for another
** one, until the file has gone. A thread called "held" has no state: it sleeps
** in the kernel until a file of that name has gone, and makes one, "released".
** With -DPLUGIN it is a library with a function `host` instead, which a program
** may load for itself alone. With -DALLOCATE the memory is not from LuaJIT's
** own allocator.
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static const char *file;

static const char code[] =
  "local keep = {}\n"
  "local function work_%s(n)\n"
  "  local sum = 0\n"
  "  for i = 1, n do keep[i %% 100 + 1] = { i } sum = sum + i end\n"
  "  return sum\n"
  "end\n"
  "return work_%s\n";

static int failed;

#ifdef ALLOCATE
static void *allocate(void *ud, void *p, size_t old, size_t n)
{
  (void)ud;
  (void)old;
  if (n > 0) return realloc(p, n);
  free(p);
  return NULL;
}
#define luaL_newstate() lua_newstate(allocate, NULL)
#endif

static void *run(void *name)
{
  lua_State *L = luaL_newstate();
  char text[512];
  luaL_openlibs(L);
  snprintf(text, sizeof(text), code, (char *)name, (char *)name);
  if (luaL_loadbuffer(L, text, strlen(text), name) != 0 ||
      lua_pcall(L, 0, 1, 0) != 0)
    abort();
  while (access(file, F_OK) == 0) {
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 20000);
    if (lua_pcall(L, 1, 1, 0) != 0 || lua_tonumber(L, -1) != 200010000)
      failed = 1;
    lua_settop(L, 1);
    usleep(3000);
  }
  lua_close(L);
  return NULL;
}

static void *hold(void *name)
{
  if (vfork() == 0) {
    while (access(name, F_OK) == 0) usleep(1000);
    _exit(0);
  }
  fclose(fopen("released", "w"));
  return NULL;
}

#ifdef PLUGIN
#define main host
#endif

int main(int argc, char **argv);

int main(int argc, char **argv)
{
  pthread_t threads[16];
  int i;
  file = argv[1];
  if (argc == 3) {
    run(argv[2]);
  } else {
    for (i = 2; i < argc && i < 16; i++)
      pthread_create(&threads[i], NULL,
		     strcmp(argv[i], "held") == 0 ? hold : run, argv[i]);
    for (i = 2; i < argc && i < 16; i++) pthread_join(threads[i], NULL);
  }
  puts(failed ? "wrong" : "right");
  return 0;
}
