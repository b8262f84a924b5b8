/* SPDX-License-Identifier: MIT */
/*
** See profile/origin.h.
*/
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/spell.h"
#include "profile/origin.h"

#define COMMAND_MAX	1000	/* Words kept of the command line, */
#define EXE_MAX	1024	/* and bytes of the executable's name. */

/* arg[i] of the luajit command, or NULL. */
static char *command_word(lua_State *L, int i)
{
  char *s = NULL;
  lua_rawgeti(L, -1, i);
  if (lua_isstring(L, -1)) s = strdup(lua_tostring(L, -1));
  if (s != NULL) mp_spell_hide(s);
  lua_pop(L, 1);
  return s;
}

/* The first index of the table arg, which may be negative: the script is
** at 0. */
static int first_word(lua_State *L)
{
  int from = 0;
  while (from > -COMMAND_MAX) {
    bool word;
    lua_rawgeti(L, -1, from - 1);
    word = lua_isstring(L, -1);
    lua_pop(L, 1);
    if (!word) break;
    from--;
  }
  return from;
}

/* The name of a host's executable, or NULL. Its words are no source: programs
** write over them. */
static char *host_name(void)
{
  static const char gone[] = " (deleted)";  /* Since the program began. */
  char path[EXE_MAX], *name;
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
  size_t len;
  if (n <= 0 || n == (ssize_t)sizeof(path) - 1) return NULL;
  path[n] = '\0';
  if ((name = strrchr(path, '/')) == NULL) return NULL;
  len = strlen(++name);
  if (len > sizeof(gone) - 1 && strcmp(name + len - (sizeof(gone) - 1), gone)
      == 0)
    name[len - (sizeof(gone) - 1)] = '\0';
  return strdup(name);
}

static void set_command(mp_origin *o, lua_State *L)
{
  lua_pushliteral(L, "arg");  /* Not declared where globals must be? */
  lua_rawget(L, LUA_GLOBALSINDEX);
  if (lua_istable(L, -1)) {
    int i, from = first_word(L);
    o->script = command_word(L, 0);
    o->command = calloc(COMMAND_MAX + 1, sizeof(*o->command));
    for (i = 0; o->command != NULL && i < COMMAND_MAX; i++)
      if ((o->command[i] = command_word(L, from + i)) == NULL) break;
  }
  lua_pop(L, 1);
  if (o->script == NULL) o->script = host_name();
}

void mp_origin_set(mp_origin *o, lua_State *L)
{
  o->cwd = getcwd(NULL, 0);
  if (o->cwd == NULL) o->cwd = strdup("/");
  set_command(o, L);
}

static char *jit_field(lua_State *R, const char *field)
{
  char *s = NULL;
  lua_getglobal(R, "jit");
  lua_getfield(R, -1, field);
  if (lua_isstring(R, -1)) s = strdup(lua_tostring(R, -1));
  lua_pop(R, 2);
  return s;
}

void mp_origin_set_vm(mp_origin *o, lua_State *R)
{
  o->luajit = jit_field(R, "version");
  o->os = jit_field(R, "os");
  o->arch = jit_field(R, "arch");
}

void mp_origin_free(mp_origin *o)
{
  int i;
  free(o->options);
  free(o->luajit);
  free(o->os);
  free(o->arch);
  free(o->cwd);
  free(o->script);
  for (i = 0; o->command != NULL && o->command[i] != NULL; i++)
    free(o->command[i]);
  free(o->command);
}
