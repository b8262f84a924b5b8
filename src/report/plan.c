/* SPDX-License-Identifier: MIT */
/*
** See report/plan.h.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plan.h"
#include "report/together.h"

#include "lauxlib.h"

typedef struct planning {
  mp_plan *plan;
  lua_State *L;			/* Has the arguments on its stack. */
  const mp_origin *origin;
  char *buf;			/* For a message. */
  size_t n;
  int err;
} planning;

/* Absent numbers are 0: defaults are for optionlist.lua. */
static double number_field(lua_State *R, const char *field)
{
  double n;
  lua_getfield(R, -1, field);
  n = lua_tonumber(R, -1);
  lua_pop(R, 1);
  return n;
}

static bool bool_field(lua_State *R, const char *field)
{
  bool b;
  lua_getfield(R, -1, field);
  b = lua_toboolean(R, -1);
  lua_pop(R, 1);
  return b;
}

/* Reads the settings of the core from the plan on top of the stack. */
static void read_plan(lua_State *R, mp_plan *plan)
{
  plan->period = (uint64_t)number_field(R, "period");
  plan->interval = (int)number_field(R, "interval");
  plan->every = (int)number_field(R, "every");
  plan->limit = number_field(R, "limit");
  plan->leak_limit = number_field(R, "leak_limit");
  plan->walk.share = number_field(R, "walk");
  plan->walk.file = bool_field(R, "walk_file");
  plan->trigger.share = number_field(R, "trigger_share");
  plan->trigger.bytes = number_field(R, "trigger_bytes");
  plan->trigger.busy = number_field(R, "trigger_busy");
  plan->trigger.walk = plan->walk;
  plan->trigger.walk.lasting = true;
  plan->trigger.walk.urgent = true;
  plan->trigger.walk.share = number_field(R, "trigger_walk");
  plan->events = bool_field(R, "events");
  plan->leaks = bool_field(R, "leaks");
  plan->live = bool_field(R, "live");
  plan->memory = bool_field(R, "memory");
  plan->calls = bool_field(R, "calls");
  plan->compiler = bool_field(R, "compiler");
  plan->listings = bool_field(R, "listings");
  plan->waits = bool_field(R, "waits");
  plan->types = bool_field(R, "types");
  plan->lines = bool_field(R, "lines");
  plan->functions = bool_field(R, "functions");
  plan->cpu_only = bool_field(R, "cpu_only");
  plan->help = bool_field(R, "contents");
  plan->together = bool_field(R, "together");
  plan->collected = bool_field(R, "memprof") && plan->events;
  plan->began = number_field(R, "began");
  lua_getfield(R, -1, "text");
  plan->text = strdup(lua_tostring(R, -1));
  lua_pop(R, 1);
  if (plan->text == NULL) luaL_error(R, "not enough memory");
}

static int open_output(const planning *p, mp_output *o, const char *name)
{
  const luajit_mp_writer *w = &p->plan->writer;
  return w->write != NULL ? mp_output_hand(o, name, w) :
	 mp_output_open(o, name, p->origin->cwd);
}

/* Whether the output by that name has the profiles of several states. */
static bool is_for_all(const mp_plan *plan, const mp_output *o,
		       const char *name)
{
  if (strstr(name, "%m") != NULL) return true;
  return plan->together && strstr(name, "%s") == NULL &&
    mp_output_is_file(o);
}

/* Opens the files of the plan on top of the stack. */
static void open_outputs(lua_State *R, planning *p)
{
  mp_plan *plan = p->plan;
  char shown[MP_NAME_SIZE];
  char number[24];
  int i, n;
  snprintf(number, sizeof(number), "%u", p->origin->state);
  lua_getfield(R, -1, "files");
  n = (int)lua_objlen(R, -1);
  p->err = ENOMEM;
  plan->outs = calloc((size_t)n, sizeof(*plan->outs));
  plan->sendings = calloc((size_t)n, sizeof(*plan->sendings));
  if (plan->outs == NULL || plan->sendings == NULL)
    luaL_error(R, "not enough memory");
  for (p->err = 0, i = 1; i <= n && p->err == 0; i++) {
    mp_output *o = &plan->outs[plan->nouts++];
    const char *name;
    lua_rawgeti(R, -1, i);
    name = luaL_gsub(R, lua_tostring(R, -1), "%s", number);
    name = luaL_gsub(R, name, "%m", MP_TOGETHER);
    p->err = open_output(p, o, name);
    o->together = is_for_all(plan, o, lua_tostring(R, -3));
    o->since = plan->began;
    if (p->err != 0)
      snprintf(p->buf, p->n, "cannot open '%s' for the report: %s",
	       mp_output_name(shown, name), mp_output_error(p->err));
    lua_pop(R, 3);
  }
  lua_pop(R, 1);
}

#define DEPTH	2		/* Of tables in arguments. */

/* Pushes to R the value that L has at i; false in place of a value that cannot
** be an argument. L has room for it on its stack. */
static void copy(lua_State *R, lua_State *L, int i, int depth)
{
  const char *s;
  size_t len;
  switch (lua_type(L, i)) {
  case LUA_TNUMBER: lua_pushnumber(R, lua_tonumber(L, i)); return;
  case LUA_TBOOLEAN: lua_pushboolean(R, lua_toboolean(L, i)); return;
  case LUA_TSTRING:
    s = lua_tolstring(L, i, &len);
    lua_pushlstring(R, s, len);
    return;
  case LUA_TTABLE:
    if (depth > 0) break;
    /* Fall through. */
  default: lua_pushboolean(R, 0); return;
  }
  luaL_checkstack(R, 4, "too many options");
  lua_newtable(R);
  for (lua_pushnil(L); lua_next(L, i) != 0; lua_pop(L, 1)) {
    copy(R, L, lua_gettop(L) - 1, depth - 1);
    copy(R, L, lua_gettop(L), depth - 1);
    if (lua_type(R, -2) == LUA_TBOOLEAN) lua_pop(R, 2);
    else lua_rawset(R, -3);
  }
}

int mp_plan_in_make(lua_State *R)
{
  planning *p = mp_state_argument(R);
  int i, n = lua_gettop(p->L);
  if (n > 0 && lua_type(p->L, n) == LUA_TUSERDATA)
    p->plan->writer = *(luajit_mp_writer *)lua_touserdata(p->L, n--);
  luaL_checkstack(R, n + 8, "too many outputs");
  mp_state_push(R, "make");
  for (i = 1; i <= n; i++) copy(R, p->L, i, DEPTH);
  lua_call(R, n, 2);
  if (!lua_istable(R, -2)) {
    p->err = MP_WRONG;
    luaL_error(R, "%s", lua_tostring(R, -1));
  }
  lua_pop(R, 1);
  read_plan(R, p->plan);
  open_outputs(R, p);
  lua_pushlightuserdata(R, p->plan);
  lua_insert(R, -2);
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

int mp_plan_make(mp_plan *plan, mp_state *s, lua_State *L,
		 const mp_origin *origin, char *buf, size_t n)
{
  planning p = { plan, L, origin, buf, n, 0 };
  memset(plan, 0, sizeof(*plan));
  if (!mp_state_take(s, buf, n)) return EBUSY;
  if (!mp_state_call(s, mp_plan_in_make, &p, buf, n) && p.err == 0)
    p.err = MP_FAILED;
  mp_state_give_back(s);
  return p.err;
}

int mp_plan_in_drop(lua_State *R)
{
  lua_pushlightuserdata(R, mp_state_argument(R));
  lua_pushnil(R);
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

void mp_plan_free(mp_plan *plan, mp_state *s)
{
  int i;
  if (plan->outs != NULL) mp_state_call(s, mp_plan_in_drop, plan, NULL, 0);
  for (i = 0; i < plan->nouts; i++) {
    mp_output_close(&plan->outs[i]);
    mp_sending_free(&plan->sendings[i]);
  }
  free(plan->outs);
  free(plan->sendings);
  free(plan->text);
  memset(plan, 0, sizeof(*plan));
}

void mp_plan_forked(mp_plan *plan)
{
  int i;
  for (i = 0; i < plan->nouts; i++) mp_output_forked(&plan->outs[i]);
}

void mp_plan_push(lua_State *R, const mp_plan *plan)
{
  lua_pushlightuserdata(R, (void *)plan);
  lua_rawget(R, LUA_REGISTRYINDEX);
}
