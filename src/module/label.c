/* SPDX-License-Identifier: MIT */
/*
** See module/label.h.
**
** The program pays for each call, and may make one for each request: nothing
** here takes memory from the VM, unless it raises an error.
*/
#include "config.h"

#include <stdio.h>

#include "module/guard.h"
#include "module/label.h"
#include "sample/hook.h"

#include "lauxlib.h"

#define NUMBER_SIZE	32	/* Bytes of a number as a text. */

/* The changes of a call. */
typedef struct changes {
  mp_label list[MP_LABELS_MAX];
  int n;
  char numbers[MP_LABELS_MAX][NUMBER_SIZE];
} changes;

/* Raises an error for the caller of the function at that level. */
static int wrong(lua_State *L, int level, int argument, const char *what)
{
  luaL_where(L, level);
  lua_pushfstring(L, "bad argument #%d to '%s' (%s)", argument,
		  level == 1 ? "label" : "with", what);
  lua_concat(L, 2);
  return lua_error(L);
}

static const char *read_name(lua_State *L, int i, mp_label *label)
{
  if (lua_type(L, i) != LUA_TSTRING)
    return "the name of a label is a string, as in { route = \"/cart\" }";
  label->name.s = lua_tolstring(L, i, &label->name.len);
  return label->name.len > 0 ? NULL : "the name of a label cannot be empty";
}

/* A number stays one: lua_tolstring would make a string of it. */
static const char *read_value(lua_State *L, int i, mp_label *label, char *text)
{
  switch (lua_type(L, i)) {
  case LUA_TSTRING:
    label->value.s = lua_tolstring(L, i, &label->value.len);
    return NULL;
  case LUA_TNUMBER:
    label->value.len = (size_t)snprintf(text, NUMBER_SIZE, "%.14g",
					lua_tonumber(L, i));
    label->value.s = text;
    return NULL;
  default:
    return "the value of a label is a string or a number; tostring makes one";
  }
}

/* Reads the label whose name and value are at these indexes. */
static const char *add(lua_State *L, changes *c, int name, int value)
{
  mp_label *label = &c->list[c->n];
  const char *msg;
  if (c->n == MP_LABELS_MAX)
    return "a coroutine has at most 16 labels";
  *label = (mp_label){ { NULL, 0 }, { NULL, 0 } };
  msg = read_name(L, name, label);
  if (msg == NULL && !lua_isnoneornil(L, value))
    msg = read_value(L, value, label, c->numbers[c->n]);
  c->n++;
  return msg;
}

_Static_assert(MP_LABELS_MAX == 16, "the message says so");

/* Reads the table at index 1. level: that of its caller. */
static void read_table(lua_State *L, changes *c, int level)
{
  const char *msg = NULL;
  c->n = 0;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    int top = lua_gettop(L);
    msg = add(L, c, top - 1, top);
    if (msg != NULL) wrong(L, level, 1, msg);
    lua_pop(L, 1);
  }
}

/* Gives the running coroutine the labels of `set` and those. */
static void change(lua_State *L, mp_capture *c, uint32_t set, const changes *ch)
{
  mp_capture_enter(c);
  if (ch->n > 0)
    set = mp_labels_with(&c->labels, &c->zones, set, ch->list, ch->n);
  if (!mp_capture_label(c, L, set)) c->labels.lost = true;
  mp_capture_leave(c);
}

/* The run that is under way, or NULL. mp_guard_running asks the kernel which
** process this is, which takes as long as all of the rest: a child that was
** made in other ways than by fork(3) labels its copy of the parent's run, which
** nobody reads. */
static mp_ctx *running(lua_State *L)
{
  mp_ctx *c = mp_guard_get(L);
  return c == NULL || !c->final.done ? c : mp_guard_running(L);
}

/* The capture of the run that is under way, which from now on knows the labels
** of coroutines; or NULL. */
static mp_capture *labelled(lua_State *L)
{
  mp_ctx *c = running(L);
  if (c == NULL) return NULL;
  mp_hook_coroutines(c->profile.heap, L);
  return &c->profile.capture;
}

/* label(labels), label(name, value): sets labels of the running coroutine.
** label(name) takes one away, label() all. */
static int core_label(lua_State *L)
{
  int n = lua_gettop(L);
  mp_capture *c;
  changes ch;
  ch.n = 0;
  if (n > 0 && lua_istable(L, 1)) {
    read_table(L, &ch, 1);
  } else if (n > 0) {
    const char *msg;
    if (lua_type(L, 1) != LUA_TSTRING)
      return wrong(L, 1, 1, "a table of labels or the name of one is needed, "
		   "as in { route = \"/cart\" }");
    msg = add(L, &ch, 1, 2);
    if (msg != NULL) return wrong(L, 1, lua_objlen(L, 1) > 0 ? 2 : 1, msg);
  }
  c = labelled(L);
  if (c == NULL) return 0;
  change(L, c, n > 0 ? mp_capture_labels(c, L) : 0, &ch);
  return 0;
}

/* with(labels, f): sets labels, and returns what core_back and set_again need
** to set those that were there before; nothing if no profile runs. */
static int core_with(lua_State *L)
{
  mp_capture *c;
  changes ch;
  uint32_t before;
  if (!lua_istable(L, 1))
    return wrong(L, 2, 1, "a table of labels is needed, as in "
		 "{ route = \"/cart\" }");
  if (!lua_isfunction(L, 2) && !luaL_getmetafield(L, 2, "__call"))
    return wrong(L, 2, 2, "the function to call is needed");
  read_table(L, &ch, 2);
  c = labelled(L);
  if (c == NULL) return 0;
  before = mp_capture_labels(c, L);
  change(L, c, before, &ch);
  lua_pushnumber(L, before);
  lua_pushnumber(L, c->labels.run);
  mp_guard_push(L);
  return 3;
}

/* Whether a number from Lua is a set of labels of that run. */
static bool is_set(const mp_capture *c, double set, double run)
{
  return (double)c->labels.run == run && set >= 0 && set <= c->zones.nnodes;
}

/* core_back for calls by the FFI, which compiled code makes itself: sets these
** labels of the running coroutine, if the VM of that guard has such a run. 1:
** it did; 0: it did not, and core_back is to be asked; -1: no profile runs. */
static int set_again(mp_guard *g, double set, double run)
{
  mp_ctx *c = g->run;
  mp_capture *capture;
  lua_State *L;
  bool ok;
  if (c == NULL) return -1;
  if (c->final.done) return 0;
  capture = &c->profile.capture;
  if (!capture->vm->proved || !is_set(capture, set, run)) return 0;
  L = mp_vm_thread(capture->vm);
  if (L == NULL || (const char *)L == capture->vm->mainl) return 0;
  mp_capture_enter(capture);
  ok = mp_capture_label(capture, L, (uint32_t)set);
  mp_capture_leave(capture);
  return ok;
}

/* back(before, run, made): sets the labels that were there, if that profile is
** the one that runs. Returns whether it did; nothing if no profile runs, or if
** `made` is true and the main thread calls. */
static int core_back(lua_State *L)
{
  mp_ctx *c = running(L);
  mp_capture *capture;
  double before;
  if (c == NULL || (lua_toboolean(L, 3) && lua_pushthread(L))) return 0;
  capture = &c->profile.capture;
  before = luaL_checknumber(L, 1);
  if (!is_set(capture, before, luaL_checknumber(L, 2))) {
    lua_pushboolean(L, false);
    return 1;
  }
  mp_capture_enter(capture);
  lua_pushboolean(L, mp_capture_label(capture, L, (uint32_t)before));
  mp_capture_leave(capture);
  return 1;
}

void mp_label_functions(lua_State *L)
{
  lua_pushcfunction(L, core_label);
  lua_setfield(L, -2, "label");
  lua_pushcfunction(L, core_with);
  lua_setfield(L, -2, "with");
  lua_pushcfunction(L, core_back);
  lua_setfield(L, -2, "back");
  /* A number: an address may have more bits than light userdata. */
  lua_pushnumber(L, (double)(uintptr_t)set_again);
  lua_setfield(L, -2, "set_again");
}
