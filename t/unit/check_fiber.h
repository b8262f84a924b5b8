/* SPDX-License-Identifier: MIT */
/*
** For the tests that look at coroutines on C stacks of their own, as the fibers
** of some hosts are.
*/
#ifndef CHECK_FIBER_H
#define CHECK_FIBER_H

#include <check.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"

/* musl has the header alone. */
#ifndef HAVE_MAKECONTEXT
#define CHECK_NOFIBERS	1
#define getcontext(context)	(-1)
#define makecontext(context, f, n)	((void)(f))
#define swapcontext(from, to)	((void)0)
#endif

#define CHECK_FIBERS	4
#define CHECK_STACK	((size_t)256 << 10)

typedef struct check_fiber {
  ucontext_t context, from;	/* Its own, and who has entered it. */
  lua_State *co;		/* Its function runs in this one. */
} check_fiber;

static check_fiber check_fibers[CHECK_FIBERS];
static int check_nfibers, check_now;

static void check_fiber_run(void)
{
  lua_call(check_fibers[check_now].co, 0, 0);
}

/* fiber(f): a coroutine for enter. Below its C stack is a page that is
** guarded. */
static int check_fiber_new(lua_State *L)
{
  check_fiber *f = &check_fibers[check_nfibers++];
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *stack = mmap(NULL, page + CHECK_STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_int_le(check_nfibers, CHECK_FIBERS);
  ck_assert(stack != MAP_FAILED);
  ck_assert_int_eq(mprotect(stack, page, PROT_NONE), 0);
  f->co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, f->co, 1);
  ck_assert_int_eq(getcontext(&f->context), 0);
  f->context.uc_stack.ss_sp = stack + page;
  f->context.uc_stack.ss_size = CHECK_STACK;
  f->context.uc_link = &f->from;
  makecontext(&f->context, check_fiber_run, 0);
  return 1;
}

/* enter(i): goes on in the i-th fiber, until it leaves or ends. */
static int check_fiber_enter(lua_State *L)
{
  int before = check_now;
  check_now = (int)lua_tonumber(L, 1) - 1;
  swapcontext(&check_fibers[check_now].from, &check_fibers[check_now].context);
  check_now = before;
  return 0;
}

static int check_fiber_leave(lua_State *L)
{
  check_fiber *f = &check_fibers[check_now];
  (void)L;
  swapcontext(&f->context, &f->from);
  return 0;
}

static void check_fiber_open(lua_State *L)
{
  check_nfibers = check_now = 0;
  lua_register(L, "fiber", check_fiber_new);
  lua_register(L, "enter", check_fiber_enter);
  lua_register(L, "leave", check_fiber_leave);
}

/* The sanitizers do not know of such stacks. */
#if defined(CHECK_NOFIBERS)
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_NOFIBERS	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_NOFIBERS	1
#endif
#endif

#endif
