/* SPDX-License-Identifier: MIT */
/* The C function that a tick has interrupted is found again when it has
** returned, or calls back; and no other function's call is taken for it. */
#include "config.h"

#include <string.h>
#include <ucontext.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/callee.h"
#include "vm/view.h"

#include "lauxlib.h"

#ifdef MP_LAYOUT

static mp_vm vm;
static mp_walk walk;
static mp_view view;
static mp_callee noted;

/* Notes as a tick would that interrupts this function. */
static bool note_here(void)
{
  ucontext_t uc;
  memset(&uc, 0, sizeof(uc));
#ifdef __x86_64__
  uc.uc_mcontext.gregs[REG_RSP] =
    (greg_t)(uintptr_t)__builtin_frame_address(0);
#elif defined(__i386__)
  uc.uc_mcontext.gregs[REG_ESP] =
    (greg_t)(uintptr_t)__builtin_frame_address(0);
#else
  uc.uc_mcontext.sp = (uintptr_t)__builtin_frame_address(0);
#endif
  return mp_callee_interrupted(&vm, &uc, &noted);
}

/* note(): is interrupted. */
static int note(lua_State *L)
{
  ck_assert(note_here());
  lua_pushinteger(L, 1);
  return 1;
}

/* noting(f, ...): is interrupted, and calls f(...). */
static int noting(lua_State *L)
{
  ck_assert(note_here());
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* A name of the frame; NULL: it is the main chunk. */
static const char *name_of(const mp_vmframe *f, const char *name)
{
  return f->cfunc == (void *)note ? "note" :
	 f->cfunc == (void *)noting ? "noting" :
	 f->cfunc == (void *)call_odd ? "odd" :
	 f->builtin != 0 ? "builtin" : name;
}

/* look(): the stack to which a tick counts now, top first. */
static int look(lua_State *L)
{
  int state, i, n;
  uint32_t below;
  bool cut;
  luaL_Buffer b;
  mp_where w;
  ck_assert(mp_where_running(&vm, &walk, &w, &state));
  if (!mp_callee_find(&noted, &w)) {
    lua_pushliteral(L, "not known");
    return 1;
  }
  n = mp_view_frames(&view, &vm, &walk, &w, &below, &cut);
  ck_assert_int_gt(n, 0);
  luaL_buffinit(L, &b);
  for (i = 0; i < n; i++) {
    const char *name;
    char text[64];
    int line = mp_view_info(&view, &view.frames[i], &name);
    if ((name = name_of(&view.frames[i], name)) == NULL) break;
    snprintf(text, sizeof(text), "%s%s:%d", i > 0 ? " " : "", name, line);
    luaL_addstring(&b, text);
  }
  luaL_pushresult(&b);
  return 1;
}

static void check(const char *program, const char *want)
{
  lua_State *L = check_open(&vm, false);
  if (L == NULL) return;
  lua_register(L, "note", note);
  lua_register(L, "noting", noting);
  lua_register(L, "look", look);
  if (luaL_dostring(L, program) != 0) ck_abort_msg("%s", lua_tostring(L, -1));
  ck_assert_str_eq(lua_tostring(L, -1), want);
  lua_close(L);
  mp_walk_free(&walk);
  mp_view_free(&view);
}

START_TEST(returned)
{
  check("local function f()\n note()\n return look(), 1 end\n"
	"local r = f() return r", "note:-1 f:2");
  check("local function f(...)\n note(1, 2, ...)\n return look(), 1 end\n"
	"local r = f(1, 2, 3) return r", "note:-1 f:2");
  check("local function g()\n return note() end\n"
	"local function f()\n g()\n return look(), 1 end\n"
	"local r = f() return r", "note:-1 f:4");
}
END_TEST

START_TEST(through_others)
{
  check("local function f()\n pcall(note)\n return look(), 1 end\n"
	"local r = f() return r", "note:-1 builtin:-1 f:2");
  check("local odd = caller(1)\n"
	"local function f()\n pcall(odd, odd, note)\n return look(), 1 end\n"
	"local r = f() return r", "note:-1 odd:-1 odd:-1 builtin:-1 f:3");
  check("local t = setmetatable({}, { __add = note, __index = note })\n"
	"local function f()\n local a = t + 1\n return look(), 1 end\n"
	"local r = f() return r", "note:-1 f:3");
}
END_TEST

START_TEST(calls_back)
{
  check("local r\nlocal function g()\n r = look()\n end\n"
	"local function f()\n noting(g)\n return 1 end\n"
	"f() return r", "noting:-1 f:6");
  check("local r\nlocal function g()\n r = look()\n end\n"
	"local function f()\n pcall(caller(1), noting, g)\n return 1 end\n"
	"f() return r", "noting:-1 odd:-1 builtin:-1 f:6");
}
END_TEST

START_TEST(another_function)
{
  check("local function f() note() end\n"
	"f() local r = look() return r", "not known");
  check("local function f() note() end\n"
	"local function g() local r = look() return r end\n"
	"f() local r = g() return r", "not known");
  check("local function f() note() coroutine.yield() end\n"
	"coroutine.wrap(f)() local r = look() return r", "not known");
  check("local r = coroutine.wrap(function()\n"
	"  note() local r = coroutine.wrap(look)() return r end)()\n"
	"return r", "not known");
}
END_TEST

#else

START_TEST(returned)
{
  mp_vm vm = { 0 };
  mp_callee c;
  ck_assert(!mp_callee_interrupted(&vm, NULL, &c));
}
END_TEST

START_TEST(through_others) {} END_TEST
START_TEST(calls_back) {} END_TEST
START_TEST(another_function) {} END_TEST

#endif

CHECK_MAIN("callee", returned, through_others, calls_back, another_function)
