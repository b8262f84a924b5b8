/* SPDX-License-Identifier: MIT */
/* All that the VM's thread sleeps counts, also before it is seen asleep for the
** first time, and after the last one. */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check_fiber.h"
#include "check_main.h"
#include "check_vm.h"

#include "data/clock.h"
#include "sample/blocked.h"

#define PAUSE	30		/* Milliseconds. */
#define SLEPT	0.0299		/* Seconds, in one pause at least. */

static int pipes[2];
static mp_vm vm;
static mp_blocked b;
static sem_t said;		/* By the sleeper: */
static double mine;		/* it has slept until then. */

/* The thread of the VM. */
static void *sleeper(void *data)
{
  char c;
  (void)data;
  mp_blocked_init(&b, &vm, NULL, NULL);
  mp_blocked_here(&b);
  sem_post(&said);
  ck_assert_int_eq(read(pipes[0], &c, 1), 1);
  mine = mp_asleep_mine();
  sem_post(&said);
  ck_assert_int_eq(read(pipes[0], &c, 1), 1);
  return NULL;
}

/* Looks until it is asleep. */
static bool look(void)
{
  int i;
  for (i = 0; i < 20000; i++) {
    if (mp_blocked_look(&b, false)) return true;
    mp_clock_pause(1);
  }
  return false;
}

static bool is_asleep(void)
{
  mp_asleep a = { -1, -1 };
  mp_sleep s;
  int i;
  if (!mp_asleep_open(&a, atomic_load(&b.tid))) return false;
  for (i = 0; i < 20000 && !mp_asleep_look(&a, &s); i++) mp_clock_pause(1);
  mp_asleep_close(&a);
  return i < 20000;
}

START_TEST(all_sleep)
{
  lua_State *L = check_open(&vm, true);
  pthread_t thread;
  double from = mp_clock_wall(), sum, square;
  if (L == NULL) return;
  ck_assert_int_eq(pipe(pipes), 0);
  ck_assert_int_eq(sem_init(&said, 0, 0), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, NULL), 0);
  sem_wait(&said);
  if (is_asleep()) {  /* Not all kernels tell. */
    mp_clock_pause(PAUSE);
    ck_assert(look());
    ck_assert(!b.same && b.before == 0);
    ck_assert_double_ge(b.seconds, SLEPT);
    ck_assert_double_eq_tol(b.variance, b.seconds * b.seconds, 1e-12);
    sum = b.seconds;
    square = b.variance;
    mp_clock_pause(PAUSE);
    ck_assert(look());
    ck_assert(mp_blocked_queued(&b) == 0 && mp_blocked_queued(&b) == 0);
    ck_assert(b.same);
    ck_assert_double_ge(b.seconds, SLEPT / 2);
    ck_assert_double_eq(b.seconds, b.before);
    ck_assert_double_eq_tol(b.variance, -square * 2 / 3, 1e-12);
    sum += b.seconds + b.before;
    mp_clock_pause(PAUSE);
    ck_assert_int_eq(write(pipes[1], "x", 1), 1);
    sem_wait(&said);
    ck_assert(mp_blocked_last(&b, mine));
    ck_assert_double_ge(b.before, SLEPT);
    ck_assert_double_eq_tol(b.before_variance, b.before * b.before / 3, 1e-12);
    ck_assert_double_le(sum + b.before, mp_clock_wall() - from);
  } else {
    ck_assert_int_eq(write(pipes[1], "x", 1), 1);
  }
  ck_assert_int_eq(write(pipes[1], "x", 1), 1);
  pthread_join(thread, NULL);
  mp_blocked_close(&b);
  lua_close(L);
}
END_TEST

/* -- C stacks ------------------------------------------------------------- */

static lua_State *fibers;
static mp_coroutines *coroutines;
static uintptr_t frame;		/* An address in the host's frame. */

static int wait_for_byte(lua_State *L)
{
  struct pollfd p = { .fd = pipes[0], .events = POLLIN };
  char c;
  sem_post(&said);
  ck_assert_int_eq(poll(&p, 1, -1), 1);
  ck_assert_int_eq(read(pipes[0], &c, 1), 1);
  (void)L;
  return 0;
}

/* A host with a loop of its own: it sleeps after a coroutine has left its
** C stack, and that coroutine does, too, on its own. */
static void *host(void *data)
{
  frame = (uintptr_t)&data;
  mp_blocked_init(&b, &vm, coroutines, NULL);
  mp_blocked_here(&b);
  lua_pushnumber(fibers, 1);
  check_fiber_enter(fibers);
  wait_for_byte(fibers);
  check_fiber_enter(fibers);
  return NULL;
}

/* Whether the kernel knows the stack of the thread: under valgrind it knows one
** of valgrind's own. */
static bool is_stack_known(void)
{
  return frame - mp_blocked_stack(&b) < 1 << 20;
}

START_TEST(other_stacks)
{
#ifndef CHECK_NOFIBERS
  lua_State *L = fibers = check_open(&vm, false);
  pthread_t thread;
  bool sees;
  if (L == NULL) return;
  lua_register(L, "wait", wait_for_byte);
  check_fiber_open(L);
  ck_assert_int_eq(luaL_dostring(L, "f = fiber(function() leave() wait() end)"),
		   0);
  lua_settop(L, 0);
  coroutines = mp_coroutines_new(&vm, true);
  ck_assert_ptr_nonnull(coroutines);
  ck_assert_int_eq(pipe(pipes), 0);
  ck_assert_int_eq(sem_init(&said, 0, 0), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, host, NULL), 0);
  sem_wait(&said);
  sees = is_asleep() && is_stack_known();
  if (sees) {
    ck_assert(look());
    ck_assert(b.left && !b.placed);
    ck_assert_uint_eq(b.parked.n, 2);
  }
  ck_assert_int_eq(write(pipes[1], "x", 1), 1);
  sem_wait(&said);
  if (sees && is_asleep()) {
    ck_assert(look());
    ck_assert(!b.left && b.placed);
    ck_assert_uint_eq(b.parked.n, 2);
  }
  ck_assert_int_eq(write(pipes[1], "x", 1), 1);
  pthread_join(thread, NULL);
  mp_blocked_close(&b);
  mp_coroutines_free(coroutines);
  lua_close(L);
#endif
}
END_TEST

CHECK_MAIN("blocked", all_sleep, other_stacks)
