/* SPDX-License-Identifier: MIT */
/*
** See lib/attach.h.
*/
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/attach.h"
#include "lib/guard.h"
#include "lib/start.h"
#include "luajit-mp.h"
#include "out/write.h"
#include "profile/leaks.h"
#include "run/signal.h"

#include "lauxlib.h"

#define NAME	"attached.mp"	/* Its suffix says what is written. */

static mp_attach_block block = { .version = MP_ATTACH_VERSION };
static mp_attach_call wanted;	/* A copy of the call. */
static volatile bool performing;  /* A wish is being done. */
static mp_ctx *run;		/* The profile that we started, or NULL. */
static struct { int fd; dev_t dev; ino_t ino; } file = { -1, 0, 0 };
static uint32_t last_beat;
static double last_wall;	/* When the caller was last known to live. */

/* The hook that was there before ours. */
static struct { lua_Hook hook; int mask, count; } old;

static void fail(const char *msg)
{
  snprintf(block.msg, sizeof(block.msg), "%s", msg);
  block.phase = MP_ATTACH_FAILED;
}

/* -- The wishes, in a protected call ------------------------------------- */

static void set_lease(mp_ctx *c);

/* A new file that only we and the caller have. */
static bool open_file(void)
{
  struct stat st;
  file.fd = memfd_create("luajit-mp", MFD_CLOEXEC);
  if (file.fd < 0 || fstat(file.fd, &st) != 0) return false;
  file.dev = st.st_dev;
  file.ino = st.st_ino;
  return true;
}

/* The program may have closed it, and opened another. */
static bool is_ours(void)
{
  struct stat st;
  return file.fd >= 0 && fstat(file.fd, &st) == 0 && st.st_dev == file.dev &&
	 st.st_ino == file.ino;
}

static int write_file(void *ctx, const char *name, const void *text, size_t len)
{
  (void)ctx; (void)name;
  if (!is_ours()) return EBADF;
  if (ftruncate(file.fd, 0) != 0 || lseek(file.fd, 0, SEEK_SET) != 0)
    return errno;
  return mp_write(file.fd, text, len);
}

static void close_file(void *ctx, int err)
{
  (void)ctx; (void)err;
  if (is_ours()) close(file.fd);
  file.fd = -1;
}

static void push_writer(lua_State *L)
{
  luajit_mp_writer *w = lua_newuserdata(L, sizeof(*w));
  *w = (luajit_mp_writer){ write_file, close_file, NULL };
  luaL_newmetatable(L, "jit.mp.writer");
  lua_setmetatable(L, -2);
}

static void start(lua_State *L)
{
  mp_ctx *c;
  if (!open_file()) {
    fail("the process cannot open a file for the profile");
    return;
  }
  lua_settop(L, 0);
  lua_pushstring(L, wanted.path);
  lua_pushcclosure(L, mp_start, 1);
  lua_pushstring(L, wanted.options);
  lua_pushliteral(L, NAME);
  push_writer(L);
  lua_call(L, 3, 2);
  c = lua_toboolean(L, 1) ? mp_guard_get(L) : NULL;
  if (c == NULL) {
    fail(lua_isstring(L, 2) ? lua_tostring(L, 2) : "the start failed");
    close_file(NULL, 0);
    return;
  }
  run = c;
  set_lease(c);
  block.fd = file.fd;
  block.phase = MP_ATTACH_RUNNING;
}

static void stop(lua_State *L)
{
  mp_ctx *c = mp_guard_get(L);
  char msg[512];
  int err = 0;
  if (run != NULL && c == run && !c->done) {
    mp_leaks_collect(&c->profile, L);  /* Finalizers may end it meanwhile. */
    mp_signal_hold(false);
    if (mp_guard_get(L) == run) err = mp_guard_end(L, msg, sizeof(msg));
    mp_signal_release(false);
  }
  run = NULL;
  if (err != 0) fail(msg);
  else block.phase = MP_ATTACH_DONE;
}

static int perform(lua_State *L)
{
  if (block.open == MP_WISH_START) start(L);
  else if (block.open == MP_WISH_STOP) stop(L);
  return 0;
}

static void perform_protected(lua_State *L)
{
  int top = lua_gettop(L);
  if (block.open == 0 || performing) return;
  performing = true;
  if (lua_cpcall(L, perform, NULL) != 0) {
    fail(lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) :
	 "not enough memory");
    lua_settop(L, top);
  }
  performing = false;
  block.open = 0;
}

/* -- The hook ------------------------------------------------------------ */

static void on_hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  lua_sethook(L, old.hook, old.mask, old.count);
  perform_protected(L);
}

static void set_hook(lua_State *L)
{
  if (lua_gethook(L) != on_hook) {
    old.hook = lua_gethook(L);
    old.mask = lua_gethookmask(L);
    old.count = lua_gethookcount(L);
  }
  lua_sethook(L, on_hook, LUA_MASKCOUNT, 1);
}

static void unset_hook(lua_State *L)
{
  if (lua_gethook(L) == on_hook) lua_sethook(L, old.hook, old.mask, old.count);
}

/* At a safepoint, every now and then: whether the caller has gone. */
static void look_after(mp_ctx *c, lua_State *L, double wall)
{
  if (c != run || block.open != 0) return;
  if (block.beat != last_beat) {
    last_beat = block.beat;
    last_wall = wall;
  } else if (wall > last_wall + MP_ATTACH_LEASE) {
    block.open = MP_WISH_STOP;
    set_hook(L);
  }
}

static void set_lease(mp_ctx *c)
{
  last_beat = block.beat;
  last_wall = 0;
  c->look = look_after;
}

/* -- The entry ----------------------------------------------------------- */

static void do_later(lua_State *L)
{
  set_hook(L);
  if (run != NULL) mp_cpu_trigger(&run->profile.cpu);
}

__attribute__((visibility("default")))
mp_attach_block *mp_attach_enter(const mp_attach_call *call)
{
  lua_State *L = (lua_State *)(uintptr_t)call->mainl;
  if (call->version != MP_ATTACH_VERSION || performing) return &block;
  if (call->wish == MP_WISH_NONE) {
    block.open = 0;
    unset_hook(L);
    return &block;
  }
  if (block.open != call->wish) {
    memcpy(&wanted, call, sizeof(wanted));
    block.phase = run != NULL ? MP_ATTACH_RUNNING : MP_ATTACH_NOTHING;
    block.open = call->wish;
  }
  if (call->now != 0) {
    unset_hook(L);
    perform_protected((lua_State *)(uintptr_t)call->now);
  } else {
    do_later(L);
  }
  return &block;
}
