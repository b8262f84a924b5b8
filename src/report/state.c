/* SPDX-License-Identifier: MIT */
/*
** See report/state.h.
*/
#include "config.h"

#include <errno.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/clock.h"
#include "data/port.h"
#include "data/process.h"
#include "data/thread.h"
#include "report/files.h"
#include "report/state.h"
#include "vm/own.h"

#include "lauxlib.h"
#include "luajit.h"

/* Registry key of the module. The address of a function is its own key. */
static char module_key;

typedef struct opening {
  mp_state *state;
  const char *path;
  const lua_CFunction *functions;
} opening;

static int collect(lua_State *R)
{
  lua_gc(R, LUA_GCCOLLECT, 0);
  return 0;
}

static void set_package(lua_State *R, const char *field, const char *value)
{
  lua_getglobal(R, "package");
  lua_pushstring(R, value);
  lua_setfield(R, -2, field);
  lua_pop(R, 1);
}

/* Makes require() return the value that push pushes for a module. */
static void set_loaded(lua_State *R, const char *module,
		       void (*push)(lua_State *))
{
  lua_getglobal(R, "package");
  lua_getfield(R, -1, "loaded");
  push(R);
  lua_setfield(R, -2, module);
  lua_pop(R, 2);
}

static void make_function(lua_State *R, lua_CFunction f)
{
  lua_pushlightuserdata(R, (void *)f);
  lua_pushcfunction(R, f);
  lua_rawset(R, LUA_REGISTRYINDEX);
}

/* Whatever LUA_PATH is, package.path is LuaJIT's own. */
static void leave_environment(lua_State *R)
{
  lua_pushboolean(R, 1);
  lua_setfield(R, LUA_REGISTRYINDEX, "LUA_NOENV");
}

/* Puts that path before LuaJIT's own, of which the elements stay that do not
** depend on the directory: jit.vmdef is there. */
static void add_path(lua_State *R, const char *path)
{
  const char *p;
  luaL_Buffer b;
  lua_getglobal(R, "package");
  lua_getfield(R, -1, "path");
  p = lua_tostring(R, -1);
  luaL_buffinit(R, &b);
  luaL_addstring(&b, path);
  while (p != NULL && *p != '\0') {
    size_t n = strcspn(p, ";");
    if (*p == '/') {
      luaL_addchar(&b, ';');
      luaL_addlstring(&b, p, n);
    }
    p += n + (p[n] == ';');
  }
  luaL_pushresult(&b);
  lua_setfield(R, -3, "path");
  lua_pop(R, 2);
}

static int open_state(lua_State *R)
{
  opening *o = lua_touserdata(R, 1);
  leave_environment(R);
  mp_own_open(R, &o->state->ffi_half_open);
  luaJIT_setmode(R, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  add_path(R, o->path);
  set_package(R, "cpath", "");
  set_loaded(R, "jit.mp.files", mp_files_push);
  lua_pushlightuserdata(R, &module_key);
  lua_getglobal(R, "require");
  lua_pushliteral(R, "jit.mp.plan");
  lua_call(R, 1, 1);
  lua_rawset(R, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(R, o->state);  /* Calls push it: see there. */
  make_function(R, collect);
  for (; *o->functions != NULL; o->functions++) make_function(R, *o->functions);
  return 0;
}

/* -- The allocator ------------------------------------------------------- */

/* By its name, luajit-mp attach tells these states from the program's. */
void *mp_state_alloc(void *ud, void *p, size_t old, size_t new);

__attribute__((visibility("default")))
void *mp_state_alloc(void *ud, void *p, size_t old, size_t new)
{
  mp_state *s = ud;
  void *q;
  if (new > old && new - old > s->left) {
    s->refused = true;
    return NULL;
  }
  q = s->memory.f(s->memory.ud, p, old, new);
  if (q != NULL || new == 0) s->left += old - new;
  return q;
}

#define UNLIMITED	(SIZE_MAX / 2)

void mp_state_limit(mp_state *s, size_t bytes)
{
  s->limit = bytes;
  s->left = bytes != 0 ? bytes : UNLIMITED;
  s->refused = false;
}

/* The message of an error that left the state. */
static void get_error(const mp_state *s, char *buf, size_t n)
{
  if (s->refused)
    snprintf(buf, n, "it needs more memory than its limit of %.0f MiB: "
	     "raise the limit by option C", (double)s->limit / 1048576);
  else
    snprintf(buf, n, "%s", lua_type(s->R, -1) == LUA_TSTRING ?
	     lua_tostring(s->R, -1) : "not enough memory");
}

/* -- The state ----------------------------------------------------------- */

/* LuaJIT makes invalid conversions of numbers, for which the program may have
** asked for SIGFPE. Nor is the way in which it rounds ours. */
static void leave_arithmetic(fenv_t *programs)
{
  fegetenv(programs);
  fesetenv(FE_DFL_ENV);
}

int mp_state_open(mp_state **result, const char *path,
		  const lua_CFunction *functions, char *buf, size_t n)
{
  mp_state *s = *result = calloc(1, sizeof(*s));
  opening o = { s, path, functions };
  fenv_t programs;
  char msg[256];
  int err;
  if (s == NULL || (s->R = luaL_newstate()) == NULL) {
    snprintf(buf, n, "not enough memory");
    return ENOMEM;
  }
  s->memory.f = lua_getallocf(s->R, &s->memory.ud);
  mp_state_limit(s, 0);
  lua_setallocf(s->R, mp_state_alloc, s);
  leave_arithmetic(&programs);
  err = lua_cpcall(s->R, open_state, &o);
  fesetenv(&programs);
  if (err == 0) return 0;
  get_error(s, msg, sizeof(msg));
  snprintf(buf, n, "cannot load the reports: %s", msg);
  return EIO;
}

/* lua_close has to find the allocator that the state was made with. */
void mp_state_close(mp_state *s)
{
  if (s == NULL) return;
  if (s->R != NULL) lua_setallocf(s->R, s->memory.f, s->memory.ud);
  if (s->R != NULL) mp_own_close(s->R, s->ffi_half_open);
  free(s);
}

#define PATIENCE 10000		/* Milliseconds for another thread. */

/* In a child that stands in there are no other threads. */
bool mp_state_take(mp_state *s, char *buf, size_t n)
{
  int i;
  for (i = 0; atomic_exchange(&s->taken, true); i++) {
    if (pthread_equal(s->taker, pthread_self()) || mp_process_stands_in() ||
	i == PATIENCE) {
      snprintf(buf, n, "another report is being made");
      return false;
    }
    mp_clock_pause(1);
  }
  s->taker = pthread_self();
  return true;
}

void mp_state_give_back(mp_state *s)
{
  mp_state_call(s, collect, NULL, NULL, 0);
  s->taken = false;
}

typedef struct call {
  lua_State *R;
  bool ok;
} call;

/* C memory is counted for each thread. */
static void make_call(void *data)
{
  call *c = data;
  mp_port_pause();
  c->ok = lua_pcall(c->R, 1, 0, 0) == 0;
  mp_port_resume();
}

/* A light userdata whose upper bits are new to LuaJIT takes memory, and nobody
** would catch the error here. Therefore only those are pushed that the state
** was opened with. */
bool mp_state_call(mp_state *s, lua_CFunction f, void *argument, char *buf,
		   size_t n)
{
  call c = { s->R, false };
  fenv_t programs;
  leave_arithmetic(&programs);
  lua_settop(s->R, 0);
  lua_pushlightuserdata(s->R, (void *)f);
  lua_rawget(s->R, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(s->R, s);
  s->argument = argument;
  mp_port_pause();
  mp_thread_roomy(make_call, &c);
  mp_port_resume();
  if (!c.ok && buf != NULL) get_error(s, buf, n);
  lua_settop(s->R, 0);
  fesetenv(&programs);
  return c.ok;
}

void *mp_state_argument(lua_State *R)
{
  const mp_state *s = lua_touserdata(R, 1);
  return s->argument;
}

void mp_state_push(lua_State *R, const char *function)
{
  lua_pushlightuserdata(R, &module_key);
  lua_rawget(R, LUA_REGISTRYINDEX);
  lua_getfield(R, -1, function);
  lua_remove(R, -2);
}
