/* SPDX-License-Identifier: MIT */
/*
** See vm/learn.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "vm/allocator.h"
#include "vm/dispatch.h"
#include "vm/frame.h"
#include "vm/learn.h"
#include "vm/own.h"
#include "vm/package.h"
#include "vm/prove.h"
#include "vm/snap.h"
#include "vm/trace.h"

#include "lauxlib.h"

static bool refuted, blind;	/* Reasons not to look into compiled code. */

#ifdef MP_LAYOUT

#define EXIT_WORDS	((J_SEARCH - TRACES_END) / EXIT_NUMBER)

typedef struct learning {
  mp_vm vm;
  lua_Alloc allocf;		/* The state's own allocator. */
  void *allocd;			/* Data of the state's own allocator. */
  bool ffi_half_open;
  const void *called;		/* By compiled code, the last time. */
  unsigned found, lost;		/* Traces that have made such calls. */
  unsigned proved, refuted;	/* Traces whose snapshots were looked at. */
  unsigned exits;		/* Exits that were looked at. */
  bool wrong[EXIT_WORDS];	/* Words that no exit's numbers begin at. */
} learning;

/* Whether there are traces, all with snapshots as expected. */
static bool has_snapshots(learning *l)
{
  const char *T;
  uint32_t i;
  if (l->refuted > 0 || !mp_trace_known(&l->vm)) return false;
  for (i = l->proved + 1; (T = mp_trace_get(&l->vm, i)) != NULL; i++) {
    if (mp_snap_proves(T)) l->proved++;
    else l->refuted++;
  }
  return l->refuted == 0;
}

/* -- Functions that make objects ----------------------------------------- */

/* Compiled loops that make objects of one kind, and nothing else. */
static const char *const makers[MP_MAKER_OTHER] = {
  "local k = { 1 } for i = 1, 200 do k[1] = { i } end",
  "local k = { 1 } for i = 1, 200 do k[1] = { 1 } end",
  ("local new = require('ffi').typeof('double[2]')\n"
   "local k = { 1 } for i = 1, 200 do k[1] = new() end"),
};

static void look_at_call(learning *l, lua_State *L)
{
  uint64_t ret;
  if (!has_snapshots(l)) return;
  const char *T = mp_trace_running(&l->vm, L, mp_vm_state(&l->vm), &ret);
  if (T != NULL) l->called = mp_trace_calls(T, ret);
  if (T != NULL) l->found++;
  else l->lost++;
}

/* -- Exits --------------------------------------------------------------- */

/* Traces whose exits need an object that the compiler sank. */
static const char exits[] =
  "for n = 1, 3 do\n"
  "  assert(loadstring([[\n"
  "    local k = { 1 }\n"
  "    for i = 1, 300 do\n"
  "      local t = { i }\n"
  "      if i > 298 then k[1] = t end\n"
  "    end]]))()\n"
  "end\n";

/* The words that are looked at, by their offsets from the trace array. */
static uint32_t words(const learning *l)
{
  return (J_SEARCH - l->vm.traces - TRACES_END) / EXIT_NUMBER;
}

static uint32_t word(uint32_t i) { return TRACES_END + i * EXIT_NUMBER; }

static void look_at_exit(learning *l, lua_State *L)
{
  uint64_t pc = mp_frame_toppc(CF_RAW(AT(void *, L, L_CFRAME)));
  uint32_t i;
  if (!has_snapshots(l)) return;
  for (i = 0; i < words(l); i++)
    if (mp_snap_exited(&l->vm, word(i), pc).trace == NULL) l->wrong[i] = true;
  l->exits++;
}

/* The word that was right at exits of several traces, if it is the only one;
** or else 0. */
static uint32_t find_exit(const learning *l)
{
  uint32_t i, n = 0, found = 0;
  for (i = 0; l->exits > 1 && i < words(l); i++)
    if (!l->wrong[i]) { found = word(i); n++; }
  return n == 1 ? found : 0;
}

/* -- The state ----------------------------------------------------------- */

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  learning *l = ud;
  if (ptr == NULL && nsize != 0) {
    lua_State *L = REF(lua_State *, l->vm.g, l->vm.curl);
    if (mp_vm_state(&l->vm) == VM_EXIT) look_at_exit(l, L);
    else if (mp_vm_ontrace(&l->vm) && !mp_vm_collecting(&l->vm))
      look_at_call(l, L);
  }
  return l->allocf(l->allocd, ptr, osize, nsize);
}

static void run(learning *l, lua_State *L, const char *program)
{
  if (luaL_loadstring(L, program) != 0) lua_error(L);
  lua_setallocf(L, hook, l);
  lua_call(L, 0, 0);
  lua_setallocf(L, l->allocf, l->allocd);
}

static int prove(lua_State *L)
{
  mp_vm_prove(lua_touserdata(L, 1), L, prove);
  return 0;
}

static int learn_from(lua_State *L)
{
  learning *l = lua_touserdata(L, 1);
  mp_snap_facts facts;
  int i;
  mp_own_open(L, &l->ffi_half_open);
  mp_package_learn(L);
  lua_pushcfunction(L, prove);
  lua_pushlightuserdata(L, &l->vm);
  lua_call(L, 1, 0);
  if (!l->vm.proved) return 0;
  mp_dispatch_learn(&l->vm, L);
  run(l, L, exits);
  facts.exit = find_exit(l);
  for (i = 0; i < MP_MAKER_OTHER; i++) {
    l->called = NULL;
    run(l, L, makers[i]);
    facts.makers[i] = l->called;
  }
  mp_snap_learned(&facts);
  refuted = l->refuted > 0;
  blind = l->lost > 0 && l->found == 0;
  return 0;
}

static void learn(void)
{
  lua_State *L = luaL_newstate();
  learning l;
  if (L == NULL) return;
  memset(&l, 0, sizeof(l));
  l.allocf = lua_getallocf(L, &l.allocd);
  mp_allocator_learn(l.allocf, l.allocd);
  lua_cpcall(L, learn_from, &l);
  lua_setallocf(L, l.allocf, l.allocd);
  mp_own_close(L, l.ffi_half_open);
}

#else

static int learn_from(lua_State *L)
{
  mp_own_open(L, lua_touserdata(L, 1));
  mp_package_learn(L);
  return 0;
}

static void learn(void)
{
  lua_State *L = luaL_newstate();
  bool ffi_half_open = false;
  if (L == NULL) return;
  lua_cpcall(L, learn_from, &ffi_half_open);
  mp_own_close(L, ffi_half_open);
}

#endif

void mp_learn(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, learn);
}

const char *mp_learn_why(void)
{
  return refuted ? "the layout of snapshots is not the known one" :
	 blind ? "LuaJIT's C functions have no unwind tables" : NULL;
}
