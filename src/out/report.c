/*
** Reports are made in a Lua state of their own, and so are options read.
**
** The one for reports is opened when the profile starts and has loaded all the
** views by then. So nothing that the program does can stop the report: another
** directory or root, changed libraries, a full heap, a trace or a C call that
** is still running when the process is told to end. And the profiled heap,
** whose size and collections are measured, holds next to nothing of ours.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/ctx.h"

#include "lauxlib.h"
#include "luajit.h"
#include "lualib.h"

/* Registry key of the module jit.mp.render. */
static char render_key;

/* Copies package.<field> of the program, from which it loaded us. */
static void copy_path(lua_State *R, lua_State *L, const char *field)
{
  int top = lua_gettop(L);
  lua_pushliteral(L, "package");
  lua_rawget(L, LUA_GLOBALSINDEX);
  if (lua_istable(L, -1)) {
    lua_pushstring(L, field);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == LUA_TSTRING) {
      lua_getglobal(R, "package");
      lua_pushstring(R, lua_tostring(L, -1));
      lua_setfield(R, -2, field);
      lua_pop(R, 1);
    }
  }
  lua_settop(L, top);
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

/* Has the module load the views that will be needed. */
static void prepare(lua_State *R, const mp_ctx *c)
{
  int i;
  lua_getfield(R, -1, "prepare");
  lua_pushstring(R, c->options);
  lua_createtable(R, c->nouts, 0);
  for (i = 0; i < c->nouts; i++) {
    lua_pushstring(R, c->outs[i].given ? c->outs[i].given : "-");
    lua_rawseti(R, -2, i + 1);
  }
  lua_call(R, 2, 0);
}

/* A state of our own, without the JIT compiler. NULL: no memory. */
static lua_State *new_state(void)
{
  lua_State *R = luaL_newstate();
  if (R != NULL)
    luaJIT_setmode(R, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  return R;
}

/* Pushes a module, found where the program L found us. */
static void load(lua_State *R, lua_State *L, const char *module)
{
  luaL_openlibs(R);
  copy_path(R, L, "path");
  copy_path(R, L, "cpath");
  lua_getglobal(R, "require");
  lua_pushstring(R, module);
  lua_call(R, 1, 1);
}

/* The message of an error in that. */
static const char *not_loaded(lua_State *R, char *buf, size_t n)
{
  const char *msg = lua_tostring(R, -1);
  snprintf(buf, n, "cannot load the reports: %s", msg ? msg : "no memory");
  return buf;
}

static int open_state(lua_State *R)
{
  mp_ctx *c = lua_touserdata(R, 1);
  lua_State *L = lua_touserdata(R, 2);
  lua_pushlightuserdata(R, &render_key);
  load(R, L, "jit.mp.render");
  c->luajit = jit_field(R, "version");
  c->os = jit_field(R, "os");
  c->arch = jit_field(R, "arch");
  prepare(R, c);
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

const char *mp_report_open(mp_ctx *c, lua_State *L, char *buf, size_t n)
{
  lua_State *R = new_state();
  if (R == NULL) return "not enough memory";
  c->report = R;
  lua_pushcfunction(R, open_state);
  lua_pushlightuserdata(R, c);
  lua_pushlightuserdata(R, L);
  return lua_pcall(R, 2, 0, 0) == 0 ? NULL : not_loaded(R, buf, n);
}

/* -- Options ------------------------------------------------------------- */

/* Calls jit.mp.setup with the arguments of L. */
static int call_setup(lua_State *R)
{
  lua_State *L = lua_touserdata(R, 1);
  int i, n = lua_gettop(L);
  load(R, L, "jit.mp.setup");
  luaL_checkstack(R, n, "too many outputs");
  for (i = 1; i <= n; i++) {
    size_t len;
    const char *s = lua_tolstring(L, i, &len);
    if (s != NULL) lua_pushlstring(R, s, len);
    else lua_pushliteral(R, "");
  }
  lua_call(R, n, 2);
  return 2;
}

static void copy_scalar(lua_State *L, lua_State *R, int i)
{
  size_t len;
  const char *s;
  switch (lua_type(R, i)) {
  case LUA_TNUMBER: lua_pushnumber(L, lua_tonumber(R, i)); break;
  case LUA_TBOOLEAN: lua_pushboolean(L, lua_toboolean(R, i)); break;
  case LUA_TSTRING:
    s = lua_tolstring(R, i, &len);
    lua_pushlstring(L, s, len);
    break;
  default: lua_pushnil(L); break;
  }
}

/* Copies the table or the nil, and the message, that R has on its stack. */
static int copy_options(lua_State *L)
{
  lua_State *R = lua_touserdata(L, 1);
  if (!lua_istable(R, -2)) {
    copy_scalar(L, R, -2);
    copy_scalar(L, R, -1);
    return 2;
  }
  lua_newtable(L);
  for (lua_pushnil(R); lua_next(R, -3) != 0; lua_pop(R, 1)) {
    copy_scalar(L, R, -2);
    copy_scalar(L, R, -1);
    lua_rawset(L, -3);
  }
  lua_pushnil(L);
  return 2;
}

int mp_report_options(lua_State *L)
{
  lua_State *R = new_state();
  char buf[256];
  int err;
  if (R == NULL) return mp_fail(L, "not enough memory", ENOMEM);
  lua_pushcfunction(R, call_setup);
  lua_pushlightuserdata(R, L);
  if (lua_pcall(R, 1, 2, 0) != 0) {
    not_loaded(R, buf, sizeof(buf));
    lua_close(R);
    return mp_fail(L, buf, EIO);
  }
  lua_pushcfunction(L, copy_options);
  lua_pushlightuserdata(L, R);
  err = lua_pcall(L, 1, 2, 0);
  lua_close(R);
  return err ? lua_error(L) : 2;
}

void mp_report_close(mp_ctx *c)
{
  if (c->report != NULL) lua_close(c->report);
  c->report = NULL;
}

/* One report: what goes in, for the protected call below. */
typedef struct request {
  mp_ctx *c;
  const char *options;
  const char *name;		/* Of the output: says the format. */
  int columns;			/* Of the terminal, or 0. */
} request;

/* Returns the text, or nil and a message; and the bytes that leak, or nil. */
static int render(lua_State *R)
{
  request *rq = lua_touserdata(R, 1);
  lua_settop(R, 0);
  lua_pushlightuserdata(R, &render_key);
  lua_rawget(R, LUA_REGISTRYINDEX);
  lua_getfield(R, -1, "report");
  mp_snapshot(R, rq->c);
  lua_pushstring(R, rq->options);
  lua_newtable(R);
  lua_pushstring(R, rq->name);
  lua_setfield(R, -2, "name");
  if (rq->columns > 0) {
    lua_pushinteger(R, rq->columns);
    lua_setfield(R, -2, "width");
  }
  lua_call(R, 3, 3);
  return 3;
}

/* Leaves the text on the stack of the state. 0, or -1 with a message. */
static int make(request *rq, char *buf, size_t n)
{
  mp_ctx *c = rq->c;
  lua_State *R = c->report;
  const char *msg;
  bool made;
  lua_pushcfunction(R, render);
  lua_pushlightuserdata(R, rq);
  mp_capture_mutex(true);  /* Another thread may run the VM (mp_grow). */
  made = lua_pcall(R, 1, 3, 0) == 0;
  mp_capture_mutex(false);
  if (!made) {
    msg = lua_tostring(R, -1);
    snprintf(buf, n, "cannot make the report: %s", msg ? msg : "no memory");
    return -1;
  }
  if (c->done && c->leak_limit > 0 && lua_tonumber(R, -1) >= c->leak_limit)
    mp_end_fail();
  if (lua_type(R, -3) == LUA_TSTRING) return 0;
  msg = lua_tostring(R, -2);
  snprintf(buf, n, "%s", msg ? msg : "the report is empty");
  return -1;
}

static void unmake(mp_ctx *c)
{
  lua_settop(c->report, 0);
  lua_gc(c->report, LUA_GCCOLLECT, 0);
  c->reporting = false;
}

int mp_report(mp_ctx *c, const char *options, mp_output *out, char *buf,
	      size_t n)
{
  request rq = { c, options, out->given ? out->given : "-",
		 mp_output_width(out) };
  const char *text;
  size_t len;
  int err;
  if (c->reporting) {
    snprintf(buf, n, "another report is being made");
    return EBUSY;
  }
  c->reporting = true;
  err = make(&rq, buf, n);
  if (err == 0) {
    text = lua_tolstring(c->report, -3, &len);
    err = mp_output_write(out, text, len);
    if (err != 0)
      snprintf(buf, n, "cannot write %s%s%s: %s", out->given ? "'" : "",
	       out->given ? out->given : "to standard output",
	       out->given ? "'" : "", strerror(err));
  }
  unmake(c);
  return err;
}

int mp_report_final(mp_ctx *c, char *buf, size_t n)
{
  char msg[512];
  int i, err = 0;
  if (c->done || c->pid != getpid()) return 0;
  c->done = true;
  c->wall1 = mp_timer_wall();
  c->cpu1 = mp_timer_cpu();
  mp_screen_close(&c->screen);
  for (i = 0; i < c->nouts; i++) {
    int e = mp_report(c, c->options, &c->outs[i], msg, sizeof(msg));
    if (e == 0) continue;
    if (err != 0) {
      fprintf(stderr, "luajit-mp: %s\n", msg);
    } else {
      snprintf(buf, n, "%s", msg);
      err = e;
    }
  }
  return err;
}

void mp_report_draw(mp_ctx *c, mp_screen *s)
{
  request rq = { c, c->options, "-", s->columns };
  char buf[256];
  const char *text = buf;
  size_t len;
  if (c->reporting) return;
  c->reporting = true;
  if (make(&rq, buf, sizeof(buf)) == 0) text = lua_tolstring(c->report, -3, &len);
  else len = strlen(buf);
  mp_screen_draw(s, text, len);
  unmake(c);
}
