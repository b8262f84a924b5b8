/*
** Reports are made in a Lua state of their own.
**
** It is opened when the profile starts and has loaded all the views by then.
** So nothing that the program does can stop the report: another directory
** or root, changed libraries, a full heap, a trace or a C call that is still
** running when the process is told to end. And a report leaves no trace in
** the profiled heap.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mp.h"

#include "lauxlib.h"
#include "luajit.h"
#include "lualib.h"

/* Registry key of the render function. */
static char render_key;

/* Copies package.<field> of the program, from which it loaded us. */
static void copy_path(lua_State *R, lua_State *L, const char *field)
{
  lua_getglobal(L, "package");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, field);
    if (lua_type(L, -1) == LUA_TSTRING) {
      lua_getglobal(R, "package");
      lua_pushstring(R, lua_tostring(L, -1));
      lua_setfield(R, -2, field);
      lua_pop(R, 1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
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

static int open_state(lua_State *R)
{
  mp_ctx *c = lua_touserdata(R, 1);
  lua_State *L = lua_touserdata(R, 2);
  luaL_openlibs(R);
  copy_path(R, L, "path");
  copy_path(R, L, "cpath");
  c->luajit = jit_field(R, "version");
  c->os = jit_field(R, "os");
  c->arch = jit_field(R, "arch");
  lua_pushlightuserdata(R, &render_key);
  lua_getglobal(R, "require");
  lua_pushliteral(R, "jit.mp.render");
  lua_call(R, 1, 1);
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

const char *mp_report_open(mp_ctx *c, lua_State *L, char *buf, size_t n)
{
  lua_State *R = luaL_newstate();
  if (R == NULL) return "not enough memory";
  c->report = R;
  luaJIT_setmode(R, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_pushcfunction(R, open_state);
  lua_pushlightuserdata(R, c);
  lua_pushlightuserdata(R, L);
  if (lua_pcall(R, 2, 0, 0) == 0) return NULL;
  snprintf(buf, n, "cannot load the reports: %s", lua_tostring(R, -1));
  return buf;
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
  mp_output *out;
} request;

/* Returns the text, or nil and a message. */
static int render(lua_State *R)
{
  request *rq = lua_touserdata(R, 1);
  int width = mp_output_width(rq->out);
  lua_settop(R, 0);
  lua_pushlightuserdata(R, &render_key);
  lua_rawget(R, LUA_REGISTRYINDEX);
  mp_snapshot(R, rq->c);
  lua_pushstring(R, rq->options);
  lua_newtable(R);
  if (width > 0) {
    lua_pushinteger(R, width);
    lua_setfield(R, -2, "width");
  }
  lua_call(R, 3, 2);
  return 2;
}

static int write_text(lua_State *R, mp_output *out, char *buf, size_t n)
{
  size_t len;
  const char *text = lua_tolstring(R, -2, &len);
  int err;
  if (text == NULL) {
    const char *msg = lua_tostring(R, -1);
    snprintf(buf, n, "%s", msg ? msg : "the report is empty");
    return -1;
  }
  err = mp_output_write(out, text, len);
  if (err != 0)
    snprintf(buf, n, "cannot write %s%s%s: %s", out->given ? "'" : "",
	     out->given ? out->given : "to standard output",
	     out->given ? "'" : "", strerror(err));
  return err;
}

int mp_report(mp_ctx *c, const char *options, mp_output *out, char *buf,
	      size_t n)
{
  lua_State *R = c->report;
  request rq = { c, options, out };
  int err = -1;
  if (c->reporting) {
    snprintf(buf, n, "another report is being made");
    return EBUSY;
  }
  c->reporting = true;
  lua_pushcfunction(R, render);
  lua_pushlightuserdata(R, &rq);
  if (lua_pcall(R, 1, 2, 0) != 0) {
    const char *msg = lua_tostring(R, -1);
    snprintf(buf, n, "cannot make the report: %s", msg ? msg : "no memory");
  } else {
    err = write_text(R, out, buf, n);
  }
  lua_settop(R, 0);
  lua_gc(R, LUA_GCCOLLECT, 0);
  c->reporting = false;
  return err;
}

int mp_report_final(mp_ctx *c, char *buf, size_t n)
{
  if (c->done || c->pid != getpid()) return 0;
  c->done = true;
  return mp_report(c, c->options, &c->out, buf, n);
}
