/* SPDX-License-Identifier: MIT */
/*
** The speed of a heap walk, by CPU time: objects a second, and memory for each,
** at 1 and 10 million objects, or as many million as the arguments say (50:
** 10 GB of memory). Part of make bench.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heapwalk/edge.h"
#include "heapwalk/holders.h"
#include "heapwalk/kinds.h"
#include "heapwalk/prove.h"

#include "lauxlib.h"
#include "lualib.h"

/* Of each ten objects six are tables with fields, four are strings. */
static const char program[] =
  "local n = ... collectgarbage('stop') list = {}\n"
  "for i = 1, n / 5 do\n"
  "  list[i] = { id = i, name = 'name '..i, next = { i }, "
  "other = { 'text '..i }, back = list[i - 1] }\n"
  "end\n";

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double began;

static void say(const char *what, uint32_t n)
{
  double t = now() - began;
  printf("  %-28s %6.2f s   %7.2f million objects a second\n", what, t,
	 n / t / 1e6);
  began = now();
}

static void walk(lua_State *L)
{
  mp_heap h;
  mp_graph g;
  mp_heapslots slots = { 0, 0, 0, 0 };
  mp_heapkinds kinds;
  mp_holders s;
  double start = began = now();
  uint32_t n;
  if (!mp_heap_open(&h, L)) abort();
  n = h.places.count;
  printf("%u objects\n", n);
  say("all objects found", n);
  if (!mp_heap_graph(&h, &g)) abort();
  say("the graph begun", n);
  if (!mp_graph_dominate(&g)) abort();
  say("retained sizes and paths", n);
  if (!mp_heapkinds_find(&kinds, &h, &g, &slots)) abort();
  say("kinds of objects", n);
  if (!mp_holders_make(&s, &h, &g, 0.03, NULL)) abort();
  say("lines of holders", n);
  began = start;
  say("all of it", n);
  printf("  %.1f bytes an object while it lasts, %.1f edges\n",
	 (double)(g.usage.peak + mp_places_memory(&h.places)) / n,
	 (double)g.nedges / n);
  mp_holders_free(&s);
  mp_heapkinds_free(&kinds);
  mp_graph_free(&g);
  mp_heap_close(&h);
}

static void run(double millions)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_loadstring(L, program) != 0) abort();
  lua_pushnumber(L, millions * 1e6);
  if (lua_pcall(L, 1, 0, 0) != 0) abort();
  walk(L);
  lua_close(L);
}

int main(int argc, char **argv)
{
  int i;
  for (i = 1; i < argc; i++) run(atof(argv[i]));
  if (argc == 1) {
    run(1);
    run(10);
  }
  return 0;
}
