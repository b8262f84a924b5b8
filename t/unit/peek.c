/* SPDX-License-Identifier: MIT */
/* Reading memory that may not be there. */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_main.h"

#include "vm/peek.h"

/* Leaves bits set in the stack that the next call takes. */
__attribute__((noinline)) static void soil_the_stack(void)
{
  volatile char soil[4096];
  size_t i;
  for (i = 0; i < sizeof(soil); i++) soil[i] = -1;
}

START_TEST(memory_is_read_whatever_the_stack_held)
{
  int from = 42, to = 0;
  bool ok;
  soil_the_stack();
  ok = mp_peek(&to, &from, sizeof(to));
  ck_assert(ok);
  ck_assert_int_eq(to, 42);
  soil_the_stack();
  ok = mp_readable(&from);
  ck_assert(ok);
}
END_TEST

START_TEST(memory_that_is_not_there_is_not_read)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char to[2], *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED);
  ck_assert_int_eq(munmap(p + page, page), 0);
  errno = ERANGE;
  ck_assert(mp_readable(p + page - 1));
  ck_assert(!mp_readable(p + page));
  ck_assert(!mp_peek(to, p + page - 1, sizeof(to)));
  ck_assert(!mp_readable(NULL));
  ck_assert_int_eq(errno, ERANGE);
  munmap(p, page);
}
END_TEST

START_TEST(all_pages_are_looked_at)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 300;
  char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED);
  ck_assert(mp_readable_all(p, n * page));
  ck_assert(mp_readable_all(p + 5, 1));
  errno = ERANGE;
  ck_assert_int_eq(mprotect(p + 200 * page, page, PROT_NONE), 0);
  ck_assert(!mp_readable_all(p, n * page));
  ck_assert(!mp_readable_all(p + 200 * page - 1, 2));
  ck_assert(!mp_readable_all(p + 200 * page, 1));
  ck_assert(mp_readable_all(p + 10, 200 * page - 10));
  ck_assert(mp_readable_all(p + 201 * page, 99 * page));
  ck_assert_int_eq(errno, ERANGE);
  munmap(p, n * page);
}
END_TEST

CHECK_MAIN("peek", memory_is_read_whatever_the_stack_held,
	   memory_that_is_not_there_is_not_read, all_pages_are_looked_at)
