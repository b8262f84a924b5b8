/* The profiler in a host program: several Lua states, one after another, at
** once, and in several threads. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

/* -- States -------------------------------------------------------------- */

static void run(lua_State *L, const char *code)
{
  if (luaL_dostring(L, code) != 0)
    ck_abort_msg("%s", lua_tostring(L, -1));
}

/* A state that finds the modules of the build. */
static lua_State *open_state(void)
{
  lua_State *L = luaL_newstate();
  ck_assert_ptr_nonnull(L);
  luaL_openlibs(L);
  run(L, "local src, build = os.getenv('srcdir'), os.getenv('builddir')\n"
	 "package.path = src..'/lib/?.lua;'..package.path\n"
	 "package.cpath = build..'/.uninstalled/?.so;'..package.cpath\n"
	 "mp = require('jit.mp')\n");
  return L;
}

static const char work[] =
  "local keep = {}\n"
  "for i = 1, 30000 do keep[i % 100 + 1] = { i } end\n"
  "return #keep\n";

static void start(lua_State *L, const char *opts, const char *file)
{
  char code[512];
  snprintf(code, sizeof(code), "assert(mp.start('%s', '%s'))", opts, file);
  run(L, code);
}

static void file_name(char *buf, size_t n, int i)
{
  snprintf(buf, n, "%s/mp-host-%ld-%d.tmp", getenv("builddir"), (long)getpid(),
	   i);
}

/* The file's text, which must be there; the file is removed. */
static char *take_file(const char *name)
{
  static char text[65536];
  FILE *f = fopen(name, "r");
  size_t n;
  ck_assert_msg(f != NULL, "no file %s", name);
  n = fread(text, 1, sizeof(text) - 1, f);
  text[n] = '\0';
  fclose(f);
  remove(name);
  return text;
}

/* -- Tests --------------------------------------------------------------- */

START_TEST(states_one_after_another)
{
  char file[256];
  int i;
  file_name(file, sizeof(file), 0);
  for (i = 0; i < 20; i++) {
    lua_State *L = open_state();
    start(L, i % 2 ? "fb1" : "f", file);
    run(L, work);
    lua_close(L);  /* Writes the report. */
    ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  }
}
END_TEST

START_TEST(a_state_that_stops_before_it_is_closed)
{
  char file[256];
  lua_State *L = open_state();
  file_name(file, sizeof(file), 0);
  start(L, "fb1", file);
  run(L, work);
  run(L, "assert(mp.stop())");
  ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  run(L, work);
  lua_close(L);
  ck_assert_int_ne(access(file, F_OK), 0);
}
END_TEST

START_TEST(the_second_state_gets_its_heap_views_and_later_the_timer)
{
  char file[2][256];
  lua_State *A = open_state(), *B = open_state();
  char *text;
  file_name(file[0], sizeof(file[0]), 0);
  file_name(file[1], sizeof(file[1]), 1);
  start(A, "fb1", file[0]);
  start(B, "lb1", file[1]);
  run(A, work);
  run(B, work);
  lua_close(A);
  ck_assert_ptr_nonnull(strstr(take_file(file[0]), "luajit-mp"));
  /* Half a second of CPU: the timer is B's now. */
  run(B, "local t = os.clock() + 0.5 while os.clock() < t do end");
  lua_close(B);
  text = take_file(file[1]);
  ck_assert_ptr_nonnull(strstr(text, "another Lua state"));
  ck_assert_ptr_nonnull(strstr(text, "allocated"));
  ck_assert_ptr_null(strstr(text, ", 0 samples"));
  ck_assert_ptr_nonnull(strstr(text, "CPU "));
}
END_TEST

static void *thread(void *arg)
{
  const char *file = arg;
  lua_State *L = open_state();
  int i;
  start(L, "lb1", file);
  for (i = 0; i < 10; i++) run(L, work);
  lua_close(L);
  return NULL;
}

START_TEST(states_in_several_threads)
{
  enum { N = 4 };
  pthread_t t[N];
  char file[N][256];
  int i;
  for (i = 0; i < N; i++) {
    file_name(file[i], sizeof(file[i]), i);
    ck_assert_int_eq(pthread_create(&t[i], NULL, thread, file[i]), 0);
  }
  for (i = 0; i < N; i++) ck_assert_int_eq(pthread_join(t[i], NULL), 0);
  for (i = 0; i < N; i++)
    ck_assert_ptr_nonnull(strstr(take_file(file[i]), "allocated"));
}
END_TEST

CHECK_MAIN("host", states_one_after_another,
	   a_state_that_stops_before_it_is_closed,
	   the_second_state_gets_its_heap_views_and_later_the_timer,
	   states_in_several_threads)
