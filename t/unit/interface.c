/* SPDX-License-Identifier: MIT */
/* The interface for C: what a host program is told, and when. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "check_main.h"
#include "check_state.h"
#include "luajit-mp.h"

typedef struct taken {
  int reports, stops, err, fails;
  char name[64];
  size_t size;
} taken;

static int take(void *ctx, const char *name, const void *data, size_t size)
{
  taken *t = ctx;
  ck_assert_ptr_nonnull(data);
  snprintf(t->name, sizeof(t->name), "%s", name);
  t->size = size;
  t->reports++;
  return t->fails;
}

static void stop(void *ctx, int err)
{
  taken *t = ctx;
  t->stops++;
  t->err = err;
}

static int drop(void *ctx, const char *name, const void *data, size_t size)
{
  (void)ctx; (void)name; (void)data; (void)size;
  return 0;
}

static const luajit_mp_writer writer_of_nothing = { drop, NULL, NULL };

START_TEST(a_report_and_its_end)
{
  taken t = { 0 };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  int top;
  ck_assert_int_eq(luajit_mp_start(L, "fb1,a.html", &w), 0);
  run(L, work);
  top = lua_gettop(L);
  ck_assert_int_eq(luajit_mp_write(L, "l,b.txt", &w), 0);
  ck_assert_str_eq(t.name, "b.txt");
  ck_assert_int_eq(luajit_mp_window(L, "c.txt", &w), 0);
  ck_assert_str_eq(t.name, "c.txt");
  ck_assert_int_eq(t.stops, 0);
  ck_assert_int_eq(luajit_mp_stop(L), 0);
  ck_assert_str_eq(t.name, "a.html");
  ck_assert_uint_gt(t.size, 1000);
  ck_assert_int_eq(t.reports, 3);
  ck_assert_int_eq(t.stops, 1);
  ck_assert_int_eq(lua_gettop(L), top);
  lua_close(L);
  ck_assert_int_eq(t.stops, 1);
}
END_TEST

START_TEST(a_state_that_is_closed)
{
  taken t = { 0 };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  ck_assert_int_eq(luajit_mp_start(L, "f", &w), 0);
  lua_close(L);
  ck_assert_str_eq(t.name, "-");
  ck_assert_int_eq(t.reports, 1);
  ck_assert_int_eq(t.stops, 1);
  ck_assert_int_eq(t.err, 0);
}
END_TEST

START_TEST(a_writer_that_fails)
{
  taken t = { .fails = ENOSPC };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  ck_assert_int_eq(luajit_mp_start(L, "f,a.txt", &w), 0);
  ck_assert_int_eq(luajit_mp_stop(L), ENOSPC);
  ck_assert_str_eq(luajit_mp_error(),
		   "cannot write 'a.txt': No space left on device");
  ck_assert_int_eq(t.err, ENOSPC);
  w.on_stop = NULL;
  ck_assert_int_eq(luajit_mp_start(L, "f,a.txt", &w), 0);
  ck_assert_int_eq(luajit_mp_stop(L), ENOSPC);
  ck_assert_int_eq(t.stops, 1);
  lua_close(L);
}
END_TEST

START_TEST(wrong_calls)
{
  taken t = { 0 };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  ck_assert_int_eq(luajit_mp_stop(L), ESRCH);
  ck_assert_str_eq(luajit_mp_error(), "the profiler is not running");
  ck_assert_int_eq(luajit_mp_write(L, "f", &w), ESRCH);
  ck_assert_int_eq(luajit_mp_window(L, "a.txt", &w), ESRCH);
  ck_assert_int_eq(luajit_mp_start(L, "f?", &w), -1);
  ck_assert_ptr_nonnull(strstr(luajit_mp_error(), "unknown option '?'"));
  ck_assert_int_eq(luajit_mp_start(L, "f", &w), 0);
  ck_assert_int_eq(luajit_mp_start(L, "f", &w), EALREADY);
  ck_assert_int_eq(luajit_mp_stop(L), 0);
  ck_assert_int_eq(t.stops, 1);
  ck_assert_int_eq(luajit_mp_start(L, NULL, &w), 0);
  ck_assert_int_eq(luajit_mp_write(L, NULL, &w), 0);
  ck_assert_int_eq(luajit_mp_stop(L), 0);
  ck_assert_int_eq(lua_gettop(L), 0);
  lua_close(L);
}
END_TEST

START_TEST(a_state_without_libraries)
{
  lua_State *L = luaL_newstate();
  ck_assert_int_eq(luajit_mp_start(L, "f", NULL), -1);
  ck_assert_ptr_nonnull(strstr(luajit_mp_error(), "luaL_openlibs"));
  ck_assert_int_eq(lua_gettop(L), 0);
  lua_close(L);
}
END_TEST

/* Neither a start nor a report is had without a function that takes it. */
START_TEST(a_writer_without_write)
{
  taken t = { 0 };
  luajit_mp_writer w = { NULL, stop, &t };
  lua_State *L = open_state();
  ck_assert_int_eq(luajit_mp_start(L, "f,a.txt", &w), EINVAL);
  ck_assert_str_eq(luajit_mp_error(), "the writer has no function write");
  ck_assert_int_eq(luajit_mp_start(L, "f,a.txt", &writer_of_nothing), 0);
  ck_assert_int_eq(luajit_mp_write(L, "f", &w), EINVAL);
  ck_assert_int_eq(luajit_mp_window(L, "b.txt", &w), EINVAL);
  ck_assert_int_eq(luajit_mp_stop(L), 0);
  ck_assert_int_eq(t.stops, 0);
  lua_close(L);
}
END_TEST

/* Option H has the options as its report, and starts no profile. */
START_TEST(help_is_no_profile)
{
  taken t = { 0 };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  ck_assert_int_eq(luajit_mp_start(L, "H,a.txt", &w), -1);
  ck_assert_ptr_nonnull(strstr(luajit_mp_error(), "no profile"));
  ck_assert_int_eq(t.stops, 0);
  ck_assert_int_eq(luajit_mp_stop(L), ESRCH);
  ck_assert_int_eq(lua_gettop(L), 0);
  lua_close(L);
}
END_TEST

/* The state's stack has no room for one more value. */
START_TEST(a_full_stack)
{
  taken t = { 0 };
  luajit_mp_writer w = { take, stop, &t };
  lua_State *L = open_state();
  int n;
  while (lua_checkstack(L, 1)) lua_pushboolean(L, 1);
  n = lua_gettop(L);
  ck_assert_int_eq(luajit_mp_start(L, "f,a.txt", &w), 0);
  ck_assert_int_eq(luajit_mp_write(L, "f,b.txt", &w), 0);
  ck_assert_int_eq(luajit_mp_start(L, "f", &w), EALREADY);
  ck_assert_int_eq(luajit_mp_stop(L), 0);
  ck_assert_int_eq(luajit_mp_start(L, "f?", &w), -1);
  ck_assert_int_eq(t.reports, 2);
  ck_assert_int_eq(lua_gettop(L), n);
  lua_close(L);
}
END_TEST

static int refuse(void *ctx, const char *name, const void *data, size_t size)
{
  (void)ctx; (void)name; (void)data; (void)size;
  _exit(77);  /* Must not be called by another process. */
}

/* A child that stands in for a stuck program does not call its writer. */
START_TEST(a_program_that_is_stuck)
{
  luajit_mp_writer w = { refuse, NULL, NULL };
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    lua_State *L = open_state();
    signal(SIGTERM, SIG_DFL);
    if (luajit_mp_start(L, "f,a.txt", &w) != 0) _exit(99);
    raise(SIGTERM);
    for (;;) pause();
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFSIGNALED(status));
  ck_assert_int_eq(WTERMSIG(status), SIGTERM);
}
END_TEST

CHECK_MAIN("interface", a_report_and_its_end, a_state_that_is_closed,
	   a_writer_that_fails, wrong_calls, a_state_without_libraries,
	   a_writer_without_write, help_is_no_profile, a_full_stack,
	   a_program_that_is_stuck)
