/* SPDX-License-Identifier: MIT */
/*
** libluajit-mp-preload: with LD_PRELOAD, each state that a host program opens
** its libraries in loads the module jit.mp.env, which profiles it by the
** environment. The program's LuaJIT must be a shared library.
**
** All other functions are looked up where luaL_openlibs was found: the program
** may have no LuaJIT, or another Lua, or have loaded LuaJIT for itself alone.
**
** The program that luajit-mp run has become says at its end if no LuaJIT was
** seen, neither in it nor in what it has run.
*/
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lualib.h"

#include "data/execport.h"
#include "preload/environment.h"
#include "process/seen.h"

#define EXPORT	__attribute__((visibility("default")))

/* The functions of the program's LuaJIT. */
typedef struct functions {
  __typeof__(luaL_openlibs) *openlibs;
  __typeof__(luaL_loadbuffer) *loadbuffer;
  __typeof__(lua_getfield) *getfield;
  __typeof__(lua_pushstring) *pushstring;
  __typeof__(lua_pcall) *pcall;
  __typeof__(lua_settop) *settop;
  __typeof__(lua_toboolean) *toboolean;
  void *jit;			/* NULL: it is another Lua. */
} functions;

/* Whether a state of LuaJIT was found. */
static atomic_bool found_state;

/* Whether it was said that there is no LuaJIT. */
static atomic_flag said_none = ATOMIC_FLAG_INIT;

static const char loader[] =
  "local path, cpath = ...\n"
  "local ok, msg = pcall(require, 'jit.mp.env')\n"
  "if not ok then\n"
  "  local p, c = package.path, package.cpath\n"
  "  package.path, package.cpath = path..';'..p, cpath..';'..c\n"
  "  ok = pcall(require, 'jit.mp.env')\n"
  "  package.path, package.cpath = p, c\n"
  "end\n"
  "if not ok then io.stderr:write('luajit-mp: ', tostring(msg), '\\n') end\n";

/* dlsym gives no function pointers. */
static void look_up(void *from, const char *name, void *f)
{
  void *p = dlsym(from, name);
  memcpy(f, &p, sizeof(p));
}

static bool find_in(void *from, functions *f)
{
  look_up(from, "luaL_openlibs", &f->openlibs);
  look_up(from, "luaL_loadbuffer", &f->loadbuffer);
  look_up(from, "lua_getfield", &f->getfield);
  look_up(from, "lua_pushstring", &f->pushstring);
  look_up(from, "lua_pcall", &f->pcall);
  look_up(from, "lua_settop", &f->settop);
  look_up(from, "lua_toboolean", &f->toboolean);
  look_up(from, "luaJIT_setmode", &f->jit);
  return f->openlibs != NULL;
}

/* Finds the functions in the objects behind this one, or else by way of the
** caller's: a library that its object loaded for itself is behind no other. */
static bool find(functions *f, void *caller)
{
  Dl_info info;
  void *object;
  bool found;
  if (find_in(RTLD_NEXT, f)) return true;
  if (dladdr(caller, &info) == 0) return false;
  object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == NULL) return false;
  found = find_in(object, f);
  dlclose(object);
  return found;
}

/* Once. Stdio may be closed, or in use. */
static void say_none(const char *why)
{
  char text[256];
  int n;
  if (atomic_flag_test_and_set(&said_none)) return;
  n = snprintf(text, sizeof(text), "luajit-mp: no profile of %.60s: %s\n",
	       program_invocation_short_name, why);
  if (write(STDERR_FILENO, text, (size_t)n) < 0) return;
}

static bool is_wanted(const functions *f, lua_State *L)
{
  bool ours;
  if (getenv("LUAJIT_MP") == NULL && getenv("LUAJIT_MP_SIGNAL") == NULL)
    return false;
  if (f->jit == NULL) {
    say_none("its Lua is not LuaJIT");
    return false;
  }
  if (f->loadbuffer == NULL || f->getfield == NULL ||
      f->pushstring == NULL || f->pcall == NULL || f->settop == NULL ||
      f->toboolean == NULL)
    return false;
  f->getfield(L, LUA_REGISTRYINDEX, "jit.mp.private");
  ours = f->toboolean(L, -1);
  f->settop(L, -2);
  return !ours;
}

static void load(const functions *f, lua_State *L)
{
  if (f->loadbuffer(L, loader, sizeof(loader) - 1, "=luajit-mp") == 0) {
    f->pushstring(L, MP_LUADIR "/?.lua");
    f->pushstring(L, MP_CMODDIR "/?.so");
    if (f->pcall(L, 2, 0, 0) == 0) return;
  }
  f->settop(L, -2);
}

EXPORT LUALIB_API void luaL_openlibs(lua_State *L)
{
  functions f;
  if (!find(&f, __builtin_return_address(0))) {
    fputs("luajit-mp: there is no luaL_openlibs\n", stderr);
    abort();
  }
  f.openlibs(L);
  if (f.jit != NULL) atomic_store(&found_state, true);
  if (!is_wanted(&f, L)) return;
  mp_seen_note();
  load(&f, L);
}

/* -- Where there is none -------------------------------------------------- */

/* The command luajit needs no library: LUA_INIT has loaded the core. */
static int is_core(struct dl_phdr_info *info, size_t size, void *unused)
{
  static const char core[] = "/jit/mp/core.so";
  size_t n = strlen(info->dlpi_name);
  (void)size;
  (void)unused;
  return n >= sizeof(core) - 1 &&
    strcmp(info->dlpi_name + n - (sizeof(core) - 1), core) == 0;
}

/* A program that has a profile may be in a sandbox by now, which kills it for
** other system calls than its own: none is made for it. */
static void say_if_none(void)
{
  if (atomic_load(&found_state) || !mp_seen_is_program() || !mp_seen_none())
    return;
  say_none(has_luajit() ?
    "its LuaJIT was not seen to open a state; luajit-mp attach profiles one "
    "that is linked in" :
    "no LuaJIT was seen in it; luajit-mp attach finds one that is linked in");
}

static void say_at_end(void)
{
  if (dl_iterate_phdr(is_core, NULL) == 0) say_if_none();
}

/* The GNU utilities close it at their end, before our destructor. */
EXPORT int fclose(FILE *file)
{
  static int (*volatile original)(FILE *);
  int (*f)(FILE *) = original;
  if (f == NULL) {
    look_up(RTLD_NEXT, "fclose", &f);
    original = f;
  }
  if (file == stderr) say_at_end();
  return f(file);
}

/* Shells end by _exit, which runs no destructors. The core takes the place of
** this where it is loaded. */
__attribute__((constructor)) static void begin(void)
{
  mp_execport *port = dlsym(RTLD_DEFAULT, MP_EXECPORT_SYMBOL);
  mp_seen_begin();
  if (!mp_seen_is_program()) {
    if (has_luajit()) mp_seen_note();
  } else if (port != NULL && port->version == MP_EXECPORT_VERSION &&
	     port->leaves == NULL) {
    port->leaves = say_if_none;
  }
}

__attribute__((destructor)) static void end(void) { say_at_end(); }
