/* SPDX-License-Identifier: MIT */
/* The profiler in a host program: several Lua states, one after another, at
** once, and in several threads. */
#include "config.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check_main.h"
#include "check_state.h"
#include "vm/layout.h"

#include "luajit.h"

/* -- Tests --------------------------------------------------------------- */

START_TEST(states_one_after_another)
{
  char file[256];
  int i;
  file_name(file, sizeof(file), 0);
  for (i = 0; i < 20; i++) {
    lua_State *L = open_state();
    start(L, i % 2 ? "fb1" : "f", file);
    run(L, work);
    lua_close(L);  /* Writes the report. */
    ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  }
}
END_TEST

START_TEST(a_state_that_stops_before_it_is_closed)
{
  char file[256];
  lua_State *L = open_state();
  file_name(file, sizeof(file), 0);
  start(L, "fb1", file);
  run(L, work);
  run(L, "assert(mp.stop())");
  ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  run(L, work);
  lua_close(L);
  ck_assert_int_ne(access(file, F_OK), 0);
}
END_TEST

START_TEST(the_second_state_gets_its_heap_views_and_later_the_timer)
{
  char file[2][256];
  lua_State *A = open_state(), *B = open_state();
  char *text;
  file_name(file[0], sizeof(file[0]), 0);
  file_name(file[1], sizeof(file[1]), 1);
  start(A, "fb1", file[0]);
  start(B, "lb1", file[1]);
  run(A, work);
  run(B, work);
  lua_close(A);
  ck_assert_ptr_nonnull(strstr(take_file(file[0]), "luajit-mp"));
  /* Half a second of CPU: the timer is B's now. */
  run(B, "local t = os.clock() + 0.5 while os.clock() < t do end");
  lua_close(B);
  text = take_file(file[1]);
  ck_assert_ptr_nonnull(strstr(text, "another Lua state"));
  ck_assert_ptr_nonnull(strstr(text, "allocated"));
  ck_assert_ptr_null(strstr(text, ", 0 samples"));
  ck_assert_ptr_nonnull(strstr(text, "CPU "));
}
END_TEST

static void *thread(void *arg)
{
  const char *file = arg;
  lua_State *L = open_state();
  int i;
  start(L, "lb1", file);
  for (i = 0; i < 10; i++) run(L, work);
  lua_close(L);
  return NULL;
}

START_TEST(states_in_several_threads)
{
  enum { N = 4 };
  pthread_t t[N];
  char file[N][256];
  int i;
  for (i = 0; i < N; i++) {
    file_name(file[i], sizeof(file[i]), i);
    ck_assert_int_eq(pthread_create(&t[i], NULL, thread, file[i]), 0);
  }
  for (i = 0; i < N; i++) ck_assert_int_eq(pthread_join(t[i], NULL), 0);
  for (i = 0; i < N; i++)
    ck_assert_ptr_nonnull(strstr(take_file(file[i]), "allocated"));
}
END_TEST

/* -- Allocators, stacks and ends of hosts -------------------------------- */

static lua_Alloc under;
static void *underdata;
static void *volatile kept[4];  /* What stays is not a leak. */

static void *over(void *ud, void *ptr, size_t osize, size_t nsize)
{
  (void)ud;
  return under(underdata, ptr, osize, nsize);
}

/* The hook stays below another allocator after the profile has ended. */
START_TEST(an_allocator_over_ours)
{
  static const char *const opts[] = { "f", "fb1", "e", "L" };
  size_t i;
  for (i = 0; i < 4; i++) {
    lua_State *L = open_state();
    start(L, opts[i], "/dev/null");
    under = lua_getallocf(L, &underdata);
    kept[i] = underdata;
    lua_setallocf(L, over, NULL);
    run(L, work);
    run(L, "assert(mp.stop())");
    run(L, work);
    run(L, "collectgarbage()");
    run(L, work);
    lua_setallocf(L, under, underdata);
  }
}
END_TEST

/* An allocator of the host's that must be told the sizes of its blocks. */
static void *strict(void *ud, void *ptr, size_t osize, size_t nsize)
{
  size_t *block = ptr != NULL ? (size_t *)ptr - 2 : NULL;
  if (block != NULL) ck_assert_uint_eq(*block, osize);
  if (nsize == 0) {
    free(block);
    return NULL;
  }
  block = realloc(block, nsize + 16);
  if (block == NULL) return NULL;
  *block = nsize;
  *(size_t *)ud += nsize;
  return block + 2;
}

START_TEST(an_allocator_of_the_hosts)
{
  static const char *const opts[] = { "f", "fb1", "e", "L" };
  char file[256], *text;
  size_t i, sum = 0;
  file_name(file, sizeof(file), 0);
  for (i = 0; i < 4; i++) {
    lua_State *L = lua_newstate(strict, &sum);
    if (L == NULL) return;  /* LuaJIT without GC64 has its own one only. */
    open_libraries(L);
    start(L, opts[i], file);
    run(L, work);
    run(L, "collectgarbage()");
    run(L, work);
    run(L, "assert(mp.stop())");
    text = take_file(file);
    ck_assert_ptr_nonnull(strstr(text, i == 2 ? ", 0 bytes more" : "in use"));
    run(L, work);
    lua_close(L);
  }
}
END_TEST

/* A C library puts its own allocator over one of an earlier profile. */
START_TEST(an_allocator_over_an_old_one)
{
  static const char *const opts[] = { "f", "fb1", "e", "L" };
  size_t i, k;
  for (i = 0; i < 4; i++) {
    lua_State *L = open_state();
    lua_Alloc first;
    void *data;
    first = lua_getallocf(L, &data);
    start(L, opts[i], "/dev/null");
    under = lua_getallocf(L, &underdata);
    kept[i] = underdata;
    run(L, work);
    run(L, "assert(mp.stop())");
    lua_setallocf(L, over, NULL);
    run(L, work);
    for (k = 0; k < 4; k++) {
      start(L, opts[k], "/dev/null");
      run(L, work);
      run(L, "assert(mp.stop())");
      run(L, "collectgarbage()");
      run(L, work);
    }
    lua_setallocf(L, first, data);
    lua_close(L);
  }
}
END_TEST

static int make_object(lua_State *L)
{
  lua_newtable(L);
  lua_newtable(L);
  lua_rawseti(L, -2, 1);
  return 1;
}

/* As an event loop does it: a coroutine ends and is collected, and the host
** goes on by itself. */
START_TEST(a_host_that_drops_its_coroutine)
{
  static const char *const opts[] = { "f", "fb1", "eb1", "Lb1" };
  char file[256], *text;
  size_t i;
  int k, n;
  file_name(file, sizeof(file), 0);
  for (i = 0; i < 4; i++) {
    lua_State *L = open_state();
    start(L, opts[i], file);
    for (k = 0; k < 50; k++) {
      lua_State *co = lua_newthread(L);
      lua_pushcfunction(co, make_object);
      ck_assert_int_eq(lua_resume(co, 0), 0);
      lua_pop(L, 1);
      lua_gc(L, LUA_GCCOLLECT, 0);
      lua_newtable(L);
      for (n = 1; n < 20; n++) {
	lua_pushfstring(L, "%d of %d", n, k);
	lua_rawseti(L, -2, n);
      }
      lua_pushcclosure(L, make_object, 1);
      lua_pop(L, 1);
    }
    run(L, "assert(mp.stop())");
    lua_close(L);
    text = take_file(file);
    ck_assert_ptr_null(strstr(text, "(thread not known)"));
    if (i == 1 && strstr(text, "capture exact"))
      ck_assert_ptr_nonnull(strstr(text, "(host program)"));
  }
}
END_TEST

/* A C library keeps the allocator that it was told of. */
START_TEST(an_allocator_that_is_kept)
{
  static const char *const opts[] = { "f", "fb1", "e", "L" };
  size_t i, k;
  for (i = 0; i < 4; i++) {
    lua_State *L = open_state();
    for (k = 0; k < 3; k++) {
      lua_Alloc f;
      void *ud;
      char *p;
      start(L, opts[(i + k) % 4], "/dev/null");
      f = lua_getallocf(L, &ud);
      run(L, work);
      ck_assert_ptr_null(f(ud, NULL, 0, 0));
      p = f(ud, NULL, 0, 100);
      run(L, "assert(mp.stop())");
      run(L, work);
      p = f(ud, p, 100, 2000);
      ck_assert_ptr_nonnull(p);
      memset(p, 6, 2000);  /* As a thread would look. */
      f(ud, p, 2000, 0);
      p = f(ud, NULL, 0, 50);
      start(L, opts[k], "/dev/null");
      run(L, work);
      f(ud, p, 50, 0);
      run(L, "assert(mp.stop())");
    }
    lua_close(L);
  }
}
END_TEST

static size_t bytes_in_use(void)
{
#ifdef HAVE_MALLINFO2
  return mallinfo2().uordblks;
#else
  return 0;  /* Not known. */
#endif
}

/* Profiles that have ended do not take more and more memory. */
START_TEST(memory_stays_flat)
{
  size_t before = 0;
  int i;
  for (i = 0; i < 150; i++) {
    lua_State *L = open_state();
    start(L, i % 2 ? "f" : "fb1", "/dev/null");
    run(L, work);
    run(L, "assert(mp.stop())");
    start(L, "L", "/dev/null");
    lua_close(L);
    if (i == 50) before = bytes_in_use();
  }
  ck_assert_uint_le(bytes_in_use(), before + (1u << 20));
}
END_TEST

#ifdef __GLIBC__  /* musl has no such contexts. */

static ucontext_t main_context, small_context;

static void on_small_stack(void)
{
  lua_State *L = open_state();
  start(L, "fb1", "/dev/null");
  run(L, work);
  run(L, "local t = {} for i = 1, 1000 do t[i] = tostring(i) end");
  run(L, "assert(mp.stop())");
  lua_close(L);
}

static void on_context(void (*f)(void), size_t size)
{
  char *m = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
  ck_assert(m != MAP_FAILED);
  ck_assert_int_eq(mprotect(m + 4096, size, PROT_READ | PROT_WRITE), 0);
  getcontext(&small_context);
  small_context.uc_stack.ss_sp = m + 4096;
  small_context.uc_stack.ss_size = size;
  small_context.uc_link = &main_context;
  makecontext(&small_context, f, 0);
  ck_assert_int_eq(swapcontext(&main_context, &small_context), 0);
  munmap(m, size + 8192);
}

static lua_State *reported;

static void work_and_stop(void)
{
  run(reported, "local t, stop = {}, os.time() + 3\n"
		"repeat\n"
		"  for i = 1, 1000 do t[i] = { tostring(i) } end\n"
		"  local file = io.open(name)\n"
		"  if file then file:close() break end\n"
		"until os.time() > stop\n"
		"assert(io.open(name), 'no report meanwhile'):close()\n"
		"assert(mp.stop())");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALL	((size_t)256 << 10)
#else
#define SMALL	((size_t)16 << 10)
#endif

/* A program that needs 6 KiB; its reports would need 24. */
static void reports_on_context(void)
{
  static const char *const opts[] = { "fw1", "Ww1" };
  char file[256];
  int i;
  for (i = 0; i < 2; i++) {
    reported = open_state();
    file_name(file, sizeof(file), 0);
    unlink(file);
    start(reported, opts[i], file);
    lua_pushstring(reported, file);
    lua_setglobal(reported, "name");
    on_context(work_and_stop, SMALL);
    lua_close(reported);
    ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
  }
}

#endif

/* Nothing can be read above a coroutine's stack. */
START_TEST(a_small_c_stack)
{
#ifdef __GLIBC__
  on_context(on_small_stack, (size_t)256 << 10);
#endif
}
END_TEST

START_TEST(reports_on_a_small_c_stack)
{
#ifdef __GLIBC__
  reports_on_context();
#endif
}
END_TEST

static void *endless(void *arg)
{
  lua_State *L = open_state();
  start(L, arg, "/dev/null");
  run(L, "local n = 0\n"
	 "while true do\n"
	 "  n = n + 1\n"
	 "  local f = loadstring('return { '..n..' }', '=c'..n % 5000)\n"
	 "  f()\n"
	 "end");
  return NULL;
}

/* The main thread ends the process while others run their states. */
START_TEST(an_exit_while_threads_run)
{
  static const char *const opts[] = { "L", "fb1", "e" };
  int i, k, status;
  for (i = 0; i < 6; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      signal(SIGTERM, SIG_DFL);  /* libcheck has it. */
      for (k = 0; k < 2; k++) {
	pthread_t t;
	if (pthread_create(&t, NULL, endless, (void *)opts[i % 3]) != 0)
	  _exit(99);
      }
      usleep(200000);
      if (i >= 3) kill(getpid(), SIGTERM);
      exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (i < 3 || WIFEXITED(status)) ck_assert_int_eq(status, 0);
    else ck_assert_int_eq(WTERMSIG(status), SIGTERM);
  }
}
END_TEST

static bool unloaded, called_late;

/* The wrapper of a module that lua_close unloads first of all. */
static int wrapper(lua_State *L, lua_CFunction f)
{
  if (unloaded) called_late = true;
  return f(L);
}

START_TEST(a_wrapper_of_c_functions)
{
  char file[256];
  const char *text;
  lua_State *L = open_state();
  file_name(file, sizeof(file), 0);
  start(L, "f", file);
  lua_pushlightuserdata(L, (void *)wrapper);
  ck_assert_int_ne(luaJIT_setmode(L, -1, LUAJIT_MODE_WRAPCFUNC |
				  LUAJIT_MODE_ON), 0);
  lua_pop(L, 1);
  run(L, work);
  unloaded = true;
  lua_close(L);
  text = take_file(file);
  ck_assert_ptr_nonnull(strstr(text, "luajit-mp"));
  /* Where the layout is not known, our functions have the wrapper, too. */
  if (strstr(text, "capture safepoint") == NULL) ck_assert(!called_late);
}
END_TEST

/* -- A build that hides the compiler's tables ---------------------------- */

static bool hides;		/* The profiler's own states do not compile. */

/* In place of LuaJIT's. Those states have a mark before they have libraries. */
__attribute__((visibility("default")))
void luaL_openlibs(lua_State *L)
{
  void (*openlibs)(lua_State *);
  bool private;
  *(void **)&openlibs = dlsym(RTLD_NEXT, "luaL_openlibs");
  lua_getfield(L, LUA_REGISTRYINDEX, "jit.mp.private");
  private = lua_toboolean(L, -1);
  lua_pop(L, 1);
  openlibs(L);
  if (hides && private)
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
}

static const char closures[] =
  "local s = 0\n"
  "for k = 1, 200 do\n"
  "  for i = 1, 500 do local f = function() return i end s = s + f() end\n"
  "end\n";

/* The report says that they are missing, and has what the event tells. */
START_TEST(tables_that_are_not_found)
{
  char file[256];
  const char *text;
  lua_State *L = open_state();
  file_name(file, sizeof(file), 0);
  hides = true;
  start(L, "Jm0", file);
  run(L, closures);
  lua_close(L);
  text = take_file(file);
  ck_assert_msg(strstr(text, "On this LuaJIT, what is blacklisted and the "
    "traces that are kept cannot be read.\n") != NULL, "%s", text);
  ck_assert_msg(strstr(text, ":3: NYI: bytecode FNEW\n") != NULL, "%s", text);
  ck_assert_msg(strstr(text, " given up") != NULL, "%s", text);
  ck_assert_ptr_null(strstr(text, "never compiled again"));
  ck_assert_ptr_null(strstr(text, "Not all traces that were given up"));
}
END_TEST

/* -- A build whose layout is not known ----------------------------------- */

static bool strange;		/* The VM's allocator is not what it says. */
static lua_Alloc allocf;	/* The one that it has. */

static void *pass_on(void *ud, void *p, size_t osize, size_t nsize)
{
  return allocf(ud, p, osize, nsize);
}

/* In place of LuaJIT's. The layout is known where the allocator lies. */
__attribute__((visibility("default")))
lua_Alloc lua_getallocf(lua_State *L, void **ud)
{
  lua_Alloc (*getallocf)(lua_State *, void **), f;
  *(void **)&getallocf = dlsym(RTLD_NEXT, "lua_getallocf");
  f = getallocf(L, ud);
  if (!strange) return f;
  if (allocf == NULL) allocf = f;
  return f == allocf ? pass_on : f;
}

/* Memory then has the line of the next safepoint, as the header says, and not
** how many bytes have one. */
START_TEST(a_layout_that_is_not_known)
{
  char file[256];
  const char *text, *said;
  lua_State *L = open_state();
  file_name(file, sizeof(file), 0);
  strange = true;
  start(L, "flb1", file);
  run(L, work);
  lua_close(L);
  strange = false;
  text = take_file(file);
  said = strstr(text, "\ncapture safepoint (");
  ck_assert_msg(said != NULL, "%s", text);
  said = strstr(said, "with a line ");
  ck_assert_msg(said != NULL, "%s", text);
  ck_assert_msg(strstr(said, "memory the next safepoint's\n") != NULL, "%s",
		text);
  said = strstr(said, "allocated");
  ck_assert(said == NULL || said > strstr(text, "next safepoint's\n"));
}
END_TEST

CHECK_MAIN("host", states_one_after_another,
	   a_state_that_stops_before_it_is_closed,
	   the_second_state_gets_its_heap_views_and_later_the_timer,
	   states_in_several_threads, an_allocator_over_ours,
	   an_allocator_of_the_hosts, an_allocator_that_is_kept,
	   an_allocator_over_an_old_one, memory_stays_flat,
	   a_host_that_drops_its_coroutine, a_small_c_stack,
	   reports_on_a_small_c_stack,
	   an_exit_while_threads_run, a_wrapper_of_c_functions,
	   tables_that_are_not_found, a_layout_that_is_not_known)
