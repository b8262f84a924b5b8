/* SPDX-License-Identifier: MIT */
/* mp_allocator: the functions behind LuaJIT's own allocator. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "vm/allocator.h"
#include "vm/learn.h"

#include "lauxlib.h"

/* Code is only read, and only where it is of this kind. */
#if defined(__x86_64__) && defined(__LP64__)
#define READS	true
#else
#define READS	false
#endif

/* Functions lie this far behind the beginning of a text. */
#define MAKE	0x1000
#define AGAIN	0x2000
#define RELEASE	0x3000

static uint8_t text[256];
static size_t length;

static void code(const void *bytes, size_t n)
{
  memcpy(text + length, bytes, n);
  length += n;
}

#define CODE(...) do { \
    static const uint8_t bytes[] = { __VA_ARGS__ }; \
    code(bytes, sizeof(bytes)); \
  } while (0)

#define TEST_NSIZE	0x48, 0x85, 0xc9	/* test %rcx,%rcx */
#define TEST_PTR	0x48, 0x85, 0xf6	/* test %rsi,%rsi */
#define SIZE_SECOND	0x48, 0x89, 0xce	/* mov %rcx,%rsi */
#define SIZE_THIRD	0x48, 0x89, 0xca	/* mov %rcx,%rdx */
#define LOAD_THIRD	0x48, 0x8b, 0xd1	/* the other form of that */

static void begin(void)
{
  memset(text, 0xcc, sizeof(text));
  length = 0;
}

static void jump_to(int32_t where)
{
  int32_t by = where - (int32_t)length - 5;
  CODE(0xe9);
  code(&by, sizeof(by));
}

static bool found(void)
{
  mp_allocator a;
  bool ok = mp_allocator_read(text, &a);
  ck_assert(ok == (a.make != NULL) && ok == (a.again != NULL) &&
	    ok == (a.release != NULL));
  if (!ok) return false;
  ck_assert_uint_eq((uintptr_t)a.make, (uintptr_t)text + MAKE);
  ck_assert_uint_eq((uintptr_t)a.again, (uintptr_t)text + AGAIN);
  ck_assert_uint_eq((uintptr_t)a.release, (uintptr_t)text + RELEASE);
  return true;
}

START_TEST(a_choice_by_jumps_if_zero)
{
  begin();
  CODE(TEST_NSIZE, 0x74, 21, TEST_PTR, 0x74, 8, SIZE_THIRD);
  jump_to(AGAIN);
  CODE(SIZE_SECOND);
  jump_to(MAKE);
  CODE(0x66, 0x90, 0x90);
  text[4] = (uint8_t)(length - 5);
  jump_to(RELEASE);
  ck_assert(found() == READS);
}
END_TEST

START_TEST(a_choice_by_jumps_if_not_zero)
{
  begin();
  CODE(0xf3, 0x0f, 0x1e, 0xfa, TEST_NSIZE, 0x0f, 0x85, 5, 0, 0, 0);
  jump_to(RELEASE);
  CODE(TEST_PTR, 0x75, 8, SIZE_SECOND);
  jump_to(MAKE);
  CODE(LOAD_THIRD);
  jump_to(AGAIN);
  ck_assert(found() == READS);
}
END_TEST

/* The same code with one thing that is not as it should be. */
START_TEST(what_does_more_than_choose_is_refused)
{
  int wrong;
  for (wrong = 0; wrong <= 8; wrong++) {
    begin();
    if (wrong == 1) CODE(0x48, 0x85, 0xd2);  /* It depends on osize. */
    if (wrong == 2) CODE(0x48, 0xff, 0x07);  /* It counts. */
    if (wrong == 3) CODE(0x74, 0);  /* A flag that nothing has set. */
    if (wrong == 4) CODE(0x48, 0x89, 0xf7);  /* Other data. */
    if (wrong == 5) CODE(0xeb, 0xfe);  /* It never ends. */
    CODE(TEST_NSIZE, 0x75, 5);
    jump_to(RELEASE);
    CODE(TEST_PTR, 0x75, 8);
    if (wrong == 6) CODE(0x48, 0x89, 0xd6);  /* osize for nsize. */
    else CODE(SIZE_SECOND);
    jump_to(wrong == 7 ? RELEASE : MAKE);
    if (wrong == 8) CODE(0x48, 0x89, 0xf2);  /* The block for its size. */
    else CODE(SIZE_THIRD);
    jump_to(AGAIN);
    ck_assert_msg(found() == (wrong == 0 && READS), "case %d", wrong);
  }
}
END_TEST

static void *another(void *ud, void *ptr, size_t osize, size_t nsize)
{
  (void)ud; (void)osize;
  if (nsize != 0) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

START_TEST(the_functions_of_this_luajit)
{
  lua_State *L = luaL_newstate();
  mp_allocator a;
  lua_Alloc f;
  void *ud;
  char *p;
  ck_assert_ptr_nonnull(L);
  f = lua_getallocf(L, &ud);
  mp_learn();
  a = mp_allocator_of(another);
  ck_assert(!mp_allocator_builtin(another));
  ck_assert(a.make == NULL && a.again == NULL && a.release == NULL);
  a = mp_allocator_of(f);
  if (a.make != NULL) {
    ck_assert(mp_allocator_builtin(f));
    p = a.make(ud, 10);
    ck_assert_ptr_nonnull(p);
    memset(p, 'x', 10);
    p = a.again(ud, p, 100000);
    ck_assert(p != NULL && p[0] == 'x' && p[9] == 'x');
    p = f(ud, p, 100000, 20);
    ck_assert(p != NULL && p[0] == 'x' && p[9] == 'x');
    ck_assert_ptr_null(a.release(ud, p));
  }
  lua_close(L);
}
END_TEST

CHECK_MAIN("allocator", a_choice_by_jumps_if_zero,
	   a_choice_by_jumps_if_not_zero, what_does_more_than_choose_is_refused,
	   the_functions_of_this_luajit)
