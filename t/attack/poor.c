/* SPDX-License-Identifier: MIT */
/*
** A host whose allocator refuses memory at each of its calls, one after
** another, while the state is profiled: the program does what it does
** otherwise or fails because there is not enough memory, and the VM gives all
** of its memory back. Prints TAP; t/attack/host.lua runs it.
** Usage: poor COUNT SEED
** Or one that has a limit, and runs a program:
** Usage: poor limit MIB FILE
*/
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static unsigned long calls, from, many;	/* from: 0: none is refused. */
static bool armed;
static long blocks;
static size_t inuse, limit = SIZE_MAX;	/* Bytes. */

static void *poor(void *ud, void *ptr, size_t osize, size_t nsize)
{
  void *p;
  (void)ud;
  if (nsize == 0) {
    if (ptr != NULL) blocks--;
    inuse -= osize;
    free(ptr);
    return NULL;
  }
  /* Shrinking must succeed: the VM does not look. */
  if (ptr == NULL || nsize > osize) {
    calls++;
    if (armed && from != 0 && calls >= from && calls - from < many) return NULL;
    if (nsize > limit - inuse + osize) return NULL;
  }
  p = realloc(ptr, nsize);
  if (p != NULL && ptr == NULL) blocks++;
  if (p != NULL) inuse += nsize - osize;
  return p;
}

static const char program[] =
  "local opts = ...\n"
  "local mp = opts ~= '' and require('jit.mp')\n"
  "if mp then assert(mp.start(opts, '/dev/null')) end\n"
  "local keep, sum = {}, 0\n"
  "local co = coroutine.wrap(function()\n"
  "  for i = 1, 1e9 do coroutine.yield(('%d'):format(i)) end\n"
  "end)\n"
  "for i = 1, 2000 do\n"
  "  keep[i % 100 + 1] = { i, name = 'n'..i, f = function() return i end }\n"
  "  if i % 10 == 0 then sum = sum + #co() end\n"
  "end\n"
  "for _, o in ipairs(keep) do sum = sum + o.f() + #o.name end\n"
  "if mp then assert(mp.stop()) end\n"
  "return sum\n";

enum { SAME, POOR, WRONG, LEAK, NO_STATE };

static lua_State *open_state(void)
{
  lua_State *L = lua_newstate(poor, NULL);
  if (L == NULL) exit(NO_STATE);
  luaL_openlibs(L);
  if (luaL_dostring(L, "local src, build = os.getenv('srcdir'), "
		       "os.getenv('builddir')\n"
		       "package.path = src..'/lib/?.lua;'..package.path\n"
		       "package.cpath = build..'/.uninstalled/?.so;'..\n"
		       "  package.cpath\n") != 0)
    exit(NO_STATE);
  return L;
}

/* Runs it; says what became of it. */
static int attempt(const char *opts, double *sum, char *msg, size_t n)
{
  lua_State *L = open_state();
  int result;
  calls = 0;
  armed = true;
  *sum = 0;
  if (luaL_loadstring(L, program) == 0) {
    lua_pushstring(L, opts);
    result = lua_pcall(L, 1, 1, 0) == 0 ? SAME : WRONG;
  } else {
    result = WRONG;
  }
  if (result == SAME) *sum = lua_tonumber(L, -1);
  else snprintf(msg, n, "%s", lua_tostring(L, -1));
  armed = false;
  if (result == WRONG && (strstr(msg, "not enough memory") != NULL ||
			  strstr(msg, "annot allocate memory") != NULL))
    result = POOR;
  lua_close(L);
  return blocks == 0 ? result : LEAK;
}

static void child(const char *opts, double want)
{
  char msg[512] = "";
  double sum;
  int result;
  alarm(60);
  result = attempt(opts, &sum, msg, sizeof(msg));
  if (result == SAME && sum != want) result = WRONG;
  if (result > POOR) printf("# %s, %ld blocks left\n", msg, blocks);
  fflush(stdout);
  _exit(result);
}

/* Whether this case is good. */
static bool good(const char *opts, double want)
{
  int status;
  pid_t pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) child(opts, want);
  if (waitpid(pid, &status, 0) != pid) return false;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= POOR) return true;
  printf("not ok - %s: status %x, %lu calls from number %lu\n", opts,
	 (unsigned)status, many, from);
  return false;
}

/* Calls of a run in which all succeed. */
static unsigned long calls_of(const char *opts, double *want)
{
  char msg[512];
  if (attempt(opts, want, msg, sizeof(msg)) != SAME) {
    printf("Bail out! %s: %s\n", opts, msg);
    exit(1);
  }
  return calls;
}

/* Runs a file as luajit does. */
static int run_file(const char *name)
{
  lua_State *L = open_state();
  int failed = luaL_dofile(L, name);
  if (failed) fprintf(stderr, "poor: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed;
}

int main(int argc, char **argv)
{
  static const char *const modes[] = { "f", "flb1", "e", "L", "W", "tb1", "a" };
  static const unsigned long lengths[] = { 1, 1, 2, 20, 1000000000 };
  enum { MODES = sizeof(modes) / sizeof(modes[0]) };
  unsigned long total[MODES];
  int i, failed = 0, count = argc > 1 ? atoi(argv[1]) : 0;
  double want, sum;
  if (argc == 4 && strcmp(argv[1], "limit") == 0) {
    limit = strtoul(argv[2], NULL, 10) << 20;
    return run_file(argv[3]);
  }
  srand(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
  calls_of("", &want);
  for (i = 0; i < (int)MODES; i++) {
    total[i] = calls_of(modes[i], &sum);
    if (sum != want) return puts("Bail out! another result"), 1;
  }
  for (i = 0; i < count; i++) {
    int m = i % (int)MODES;
    from = (unsigned long)rand() % total[m] + 1;
    many = lengths[rand() % 5];
    if (!good(modes[m], want)) failed++;
  }
  printf("%sok - an allocator that refuses memory\n", failed ? "not " : "");
  printf("# tried %d, failed %d\n1..%d\n", count, failed, failed + 1);
  return failed != 0;
}
