/*
** See out/report.h.
**
** Nothing is done with that state but inside a protected call, and the
** functions that are called so are made when it is opened: the call itself
** needs no memory.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/lock.h"
#include "out/files.h"
#include "out/report.h"
#include "out/write.h"
#include "profile/snapshot.h"

#include "lauxlib.h"
#include "luajit.h"
#include "lualib.h"

#define NAME_WIDTH 300		/* Characters of a file name in a message. */

/* -- The private state --------------------------------------------------- */

/* Registry keys: of the module jit.mp.plan, and of the list of the functions
** below. The address of a plan is the key of what that module made of it. */
static char module_key, functions_key;

static int make_plan(lua_State *R);
static int drop_plan(lua_State *R);
static int write_report(lua_State *R);
static int draw_report(lua_State *R);

static int collect(lua_State *R)
{
  lua_gc(R, LUA_GCCOLLECT, 0);
  return 0;
}

static const lua_CFunction functions[] = {
  make_plan, drop_plan, write_report, draw_report, collect
};

/* Their places in the list, which alone is on the stack of the state. */
enum { MAKE_PLAN = 1, DROP_PLAN, WRITE_REPORT, DRAW_REPORT, COLLECT };

typedef struct opening {
  mp_profile *p;
  const char *path;
} opening;

static void set_package(lua_State *R, const char *field, const char *value)
{
  lua_getglobal(R, "package");
  lua_pushstring(R, value);
  lua_setfield(R, -2, field);
  lua_pop(R, 1);
}

/* What require() gives for a module that is made by push. */
static void set_loaded(lua_State *R, const char *module,
		       void (*push)(lua_State *))
{
  lua_getglobal(R, "package");
  lua_getfield(R, -1, "loaded");
  push(R);
  lua_setfield(R, -2, module);
  lua_pop(R, 2);
}

static int open_state(lua_State *R)
{
  opening *o = lua_touserdata(R, 1);
  size_t i;
  luaL_openlibs(R);
  luaJIT_setmode(R, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  set_package(R, "path", o->path);
  set_package(R, "cpath", "");
  set_loaded(R, "jit.mp.files", mp_files_push);
  mp_origin_set_vm(&o->p->origin, R);
  lua_pushlightuserdata(R, &module_key);
  lua_getglobal(R, "require");
  lua_pushliteral(R, "jit.mp.plan");
  lua_call(R, 1, 1);
  lua_rawset(R, LUA_REGISTRYINDEX);
  lua_pushlightuserdata(R, &functions_key);
  lua_newtable(R);
  for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
    lua_pushcfunction(R, functions[i]);
    lua_rawseti(R, -2, (int)i + 1);
  }
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

/* The message of an error that left the state. */
static const char *error_message(lua_State *R)
{
  return lua_type(R, -1) == LUA_TSTRING ? lua_tostring(R, -1) :
	 "not enough memory";
}

int mp_report_open(mp_report *r, mp_profile *p, const char *path, char *buf,
		   size_t n)
{
  opening o = { p, path };
  lua_State *R = luaL_newstate();
  if (R == NULL) {
    snprintf(buf, n, "not enough memory");
    return ENOMEM;
  }
  r->profile = p;
  r->R = R;
  if (lua_cpcall(R, open_state, &o) == 0) {
    lua_pushlightuserdata(R, &functions_key);
    lua_rawget(R, LUA_REGISTRYINDEX);
    return 0;
  }
  snprintf(buf, n, "cannot load the reports: %s", error_message(R));
  return EIO;
}

void mp_report_close(mp_report *r)
{
  if (r->R != NULL) lua_close(r->R);
  r->R = NULL;
}

/* Calls one of the functions. False: an error, and its message. */
static bool call(mp_report *r, int function, void *argument, char *buf, size_t n)
{
  lua_State *R = r->R;
  bool ok;
  lua_rawgeti(R, 1, function);
  lua_pushlightuserdata(R, argument);
  ok = lua_pcall(R, 1, 0, 0) == 0;
  if (!ok && buf != NULL) snprintf(buf, n, "%s", error_message(R));
  lua_settop(R, 1);
  return ok;
}

/* Nobody else may use the state meanwhile: a finalizer, another thread. */
static bool take(mp_report *r, char *buf, size_t n)
{
  if (r->making) {
    snprintf(buf, n, "another report is being made");
    return false;
  }
  return r->making = true;
}

static void give_back(mp_report *r)
{
  call(r, COLLECT, NULL, NULL, 0);
  r->making = false;
}

/* -- Plans --------------------------------------------------------------- */

typedef struct planning {
  mp_report *r;
  mp_plan *plan;
  lua_State *L;			/* Has the arguments on its stack. */
  char *buf;			/* For a message. */
  size_t n;
  int err;
} planning;

static double number_field(lua_State *R, const char *field, double otherwise)
{
  double n;
  lua_getfield(R, -1, field);
  n = lua_isnumber(R, -1) ? lua_tonumber(R, -1) : otherwise;
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

/* What the core needs to know of the plan on top of the stack. */
static void read_plan(lua_State *R, mp_plan *plan)
{
  plan->period = (uint64_t)number_field(R, "period", 0);
  plan->interval = (int)number_field(R, "interval", 10);
  plan->leak_limit = number_field(R, "leak_limit", 0);
  plan->walk = number_field(R, "walk", 0);
  plan->walk_file = bool_field(R, "walk_file");
  plan->events = bool_field(R, "events");
  plan->leaks = bool_field(R, "leaks");
  plan->live = bool_field(R, "live");
  plan->help = bool_field(R, "contents");
}

/* Opens the files of the plan on top of the stack. */
static void open_outputs(lua_State *R, planning *p)
{
  mp_plan *plan = p->plan;
  int i, n;
  lua_getfield(R, -1, "files");
  n = (int)lua_objlen(R, -1);
  p->err = ENOMEM;
  plan->outs = calloc((size_t)n, sizeof(*plan->outs));
  if (plan->outs == NULL) luaL_error(R, "not enough memory");
  for (p->err = 0, i = 1; i <= n && p->err == 0; i++) {
    const char *name;
    lua_rawgeti(R, -1, i);
    name = lua_tostring(R, -1);
    p->err = mp_output_open(&plan->outs[plan->nouts++], name, p->r->profile->origin.cwd);
    if (p->err != 0)
      snprintf(p->buf, p->n, "cannot open '%.*s' for the report: %s",
	       NAME_WIDTH, name, mp_output_error(p->err));
    lua_pop(R, 1);
  }
  lua_pop(R, 1);
}

static int make_plan(lua_State *R)
{
  planning *p = lua_touserdata(R, 1);
  int i, n = lua_gettop(p->L);
  luaL_checkstack(R, n + 8, "too many outputs");
  lua_pushlightuserdata(R, &module_key);
  lua_rawget(R, LUA_REGISTRYINDEX);
  lua_getfield(R, -1, "make");
  for (i = 1; i <= n; i++) {
    size_t len;
    const char *s = lua_tolstring(p->L, i, &len);
    lua_pushlstring(R, s ? s : "", s ? len : 0);
  }
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

int mp_plan_make(mp_report *r, lua_State *L, mp_plan *plan, char *buf,
		 size_t n)
{
  planning p = { r, plan, L, buf, n, 0 };
  memset(plan, 0, sizeof(*plan));
  if (!take(r, buf, n)) return EBUSY;
  if (!call(r, MAKE_PLAN, &p, buf, n) && p.err == 0) p.err = MP_FAILED;
  give_back(r);
  return p.err;
}

static int drop_plan(lua_State *R)
{
  lua_pushnil(R);
  lua_rawset(R, LUA_REGISTRYINDEX);
  return 0;
}

void mp_plan_free(mp_report *r, mp_plan *plan)
{
  int i;
  if (plan->outs != NULL) call(r, DROP_PLAN, plan, NULL, 0);
  for (i = 0; i < plan->nouts; i++) mp_output_close(&plan->outs[i]);
  free(plan->outs);
  memset(plan, 0, sizeof(*plan));
}

/* -- Reports ------------------------------------------------------------- */

/* One report, for the protected calls below. */
typedef struct request {
  mp_report *r;
  const mp_plan *plan;
  mp_output *out;		/* Where it goes: there, */
  mp_screen *screen;		/* or to the screen. */
  char *buf;			/* For a message. */
  size_t n;
  double *leaked;		/* Raised to the bytes that leak. */
  bool locked;
  int err;
} request;

/* Another thread may run the VM: what is read must not move. */
static void push_snapshot(lua_State *R, request *rq)
{
  if (rq->plan->help) {
    lua_pushnil(R);
    return;
  }
  rq->locked = true;
  mp_lock();
  mp_snapshot(R, rq->r->profile);
  mp_unlock();
  rq->locked = false;
}

/* Says what failed, with the name of the output, or else those words. */
static void explain(request *rq, const char *verb, const char *otherwise,
		    const char *why)
{
  const char *name = rq->out != NULL ? rq->out->given : NULL;
  if (name == NULL)
    snprintf(rq->buf, rq->n, "cannot %s %s: %s", verb, otherwise, why);
  else
    snprintf(rq->buf, rq->n, "cannot %s '%.*s': %s", verb, NAME_WIDTH, name,
	     why);
}

/* Leaves the text, nil or a message, the bytes that leak or nil, a remark or
** nil on the stack. False: there is no text. */
static bool push_report(lua_State *R, request *rq, const char *name,
			int columns)
{
  double leaked;
  lua_pushlightuserdata(R, &module_key);
  lua_rawget(R, LUA_REGISTRYINDEX);
  lua_getfield(R, -1, "report");
  lua_pushlightuserdata(R, (void *)rq->plan);
  lua_rawget(R, LUA_REGISTRYINDEX);
  push_snapshot(R, rq);
  lua_pushstring(R, name);
  if (columns > 0) lua_pushinteger(R, columns);
  else lua_pushnil(R);
  lua_call(R, 4, 4);
  leaked = lua_tonumber(R, -2);
  if (leaked > *rq->leaked) *rq->leaked = leaked;
  if (lua_type(R, -4) == LUA_TSTRING) return true;
  rq->err = MP_FAILED;
  explain(rq, "make", "the report", lua_isstring(R, -3) ?
	  lua_tostring(R, -3) : "it is empty");
  return false;
}

static int write_report(lua_State *R)
{
  request *rq = lua_touserdata(R, 1);
  mp_output *out = rq->out;
  const char *text;
  size_t len;
  if (!push_report(R, rq, out->given ? out->given : "-", mp_output_width(out)))
    return 0;
  text = lua_tolstring(R, -4, &len);
  rq->err = mp_output_write(out, text, len);
  if (rq->err != 0)
    explain(rq, "write", "to standard output", mp_output_error(rq->err));
  else if (lua_isstring(R, -1))
    mp_say(lua_tostring(R, -1));
  return 0;
}

static int draw_report(lua_State *R)
{
  request *rq = lua_touserdata(R, 1);
  const char *text;
  size_t len;
  if (!push_report(R, rq, "-", rq->screen->columns)) return 0;
  text = lua_tolstring(R, -4, &len);
  mp_screen_draw(rq->screen, text, len);
  return 0;
}

/* Calls one of these. Returns what mp_report_write does. */
static int make(request *rq, int function)
{
  char msg[256];
  bool ok = call(rq->r, function, rq, msg, sizeof(msg));
  if (rq->locked) mp_unlock();
  if (ok) return rq->err;
  explain(rq, "make", "the report", msg);
  return MP_FAILED;
}

int mp_report_write(mp_report *r, const mp_plan *plan, double *leaked,
		    char *buf, size_t n)
{
  char msg[512];
  int i, err = 0;
  *leaked = 0;
  if (!take(r, buf, n)) return EBUSY;
  for (i = 0; i < plan->nouts; i++) {
    request rq = { r, plan, &plan->outs[i], NULL, msg, sizeof(msg), leaked,
		   false, 0 };
    int e = make(&rq, WRITE_REPORT);
    if (e == 0) continue;
    if (err != 0) mp_say(msg);
    else snprintf(buf, n, "%s", msg);
    if (err == 0) err = e;
  }
  give_back(r);
  return err;
}

void mp_report_draw(mp_report *r, const mp_plan *plan, mp_screen *s)
{
  double leaked = 0;
  char buf[256];
  request rq = { r, plan, NULL, s, buf, sizeof(buf), &leaked, false, 0 };
  if (!take(r, buf, sizeof(buf))) return;
  if (make(&rq, DRAW_REPORT) != 0) mp_screen_draw(s, buf, strlen(buf));
  give_back(r);
}
