/* SPDX-License-Identifier: MIT */
/* mp_copy: the memory of another process at the same addresses. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/copy.h"
#include "check_main.h"

#define SPAN	((size_t)64 << 20)	/* Bytes of addresses that we leave, */
#define BEGIN	((size_t)32 << 20)	/* and where the other process begins */
					/* to have memory there. */

#define HIGH	((uintptr_t)1 << (sizeof(void *) * 4 + 5))
#define LOW	((uintptr_t)0x30000000)

static size_t page;
static char *there;		/* The memory of the other process. */

/* -- The other process --------------------------------------------------- */

static struct { pid_t pid; int to, from; } other;

static void use(char *p, size_t pages)
{
  void *got = mmap(p, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got != p) _exit(1);
}

/* Does these one by one, when it is told to; at this address, perhaps. */
static void begin_at(uintptr_t hint, void (*const *steps)(void), int n)
{
  int a[2], b[2], i;
  char c, *p;
  page = (size_t)sysconf(_SC_PAGESIZE);
  p = mmap((void *)hint, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED);
  munmap(p, SPAN);
  there = p + BEGIN;
  ck_assert(pipe(a) == 0 && pipe(b) == 0);
  other.pid = fork();
  ck_assert_int_ge(other.pid, 0);
  other.to = a[1];
  other.from = b[0];
  if (other.pid > 0) {
    close(a[0]);
    close(b[1]);
    return;
  }
  close(a[1]);
  for (i = 0; read(a[0], &c, 1) == 1; i++) {
    if (i < n) steps[i]();
    if (write(b[1], &c, 1) != 1) break;
  }
  _exit(0);
}

static void begin(void (*const *steps)(void), int n)
{
  begin_at(HIGH, steps, n);
}

static void step(void)
{
  char c = 0;
  ck_assert_int_eq(write(other.to, &c, 1), 1);
  ck_assert_int_eq(read(other.from, &c, 1), 1);
}

static void finish(void)
{
  int status;
  close(other.to);
  close(other.from);
  ck_assert_int_eq(waitpid(other.pid, &status, 0), other.pid);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Those of its mappings where we have nothing. */
static mp_maps look(void)
{
  mp_maps m;
  int i, n = 0;
  ck_assert_int_eq(mp_maps_read(&m, other.pid), 0);
  for (i = 0; i < m.n; i++) {
    uint64_t at = m.list[i].from - (uintptr_t)(there - BEGIN);
    if (at < SPAN) m.list[n++] = m.list[i];
    else free(m.list[i].path);
  }
  m.n = n;
  return m;
}

static const char *make(mp_copy *c)
{
  mp_maps m = look();
  uint64_t size = mp_copy_size(&m, UINT64_MAX);
  const char *why = mp_copy_make(c, &m, UINT64_MAX);
  if (why == NULL) ck_assert_uint_eq(c->bytes, size);
  mp_maps_free(&m);
  return why;
}

/* The first byte of a page there, or -1: we have nothing there. */
static int at(size_t i)
{
  unsigned char resident;
  char *p = there + i * page;
  return mincore(p, page, &resident) == 0 ? *p : -1;
}

/* -- Copies -------------------------------------------------------------- */

static void make_some(void)
{
  use(there, 8);
  memset(there, 1, 2 * page);
  memset(there + 5 * page, 5, page);
}

static void change_some(void)
{
  memset(there + page, 2, page);
  madvise(there + 5 * page, page, MADV_DONTNEED);
  memset(there + 7 * page, 7, page);
}

static void move_some(void)
{
  munmap(there, 2 * page);
  use(there + 8 * page, 8);
  memset(there + 8 * page, 8, page);
  munmap(there + 4 * page, page);
  use(there + 32 * page, 1);
  there[32 * page] = 9;
}

static void (*const steps[])(void) = { make_some, change_some, move_some };

/* The process once it has some memory. */
static mp_maps look_at_some(void)
{
  begin(steps, 1);
  step();
  return look();
}

START_TEST(it_is_what_is_there)
{
  mp_copy c = { NULL, 0, 0 };
  begin(steps, 3);
  step();
  ck_assert_ptr_null(make(&c));
  ck_assert_uint_eq(c.bytes, 3 * page);
  ck_assert(at(0) == 1 && at(1) == 1 && at(2) == 0 && at(5) == 5 &&
	    at(7) == 0 && at(8) == -1);
  there[2 * page] = 3;  /* As if a walk of it were to write. */
  step();
  ck_assert_ptr_null(make(&c));
  ck_assert_uint_eq(c.bytes, 3 * page);
  ck_assert(at(0) == 1 && at(1) == 2 && at(2) == 0 && at(5) == 0 &&
	    at(7) == 7);
  step();
  ck_assert_ptr_null(make(&c));
  ck_assert_uint_eq(c.bytes, 3 * page);
  ck_assert(at(0) == -1 && at(1) == -1 && at(2) == 0 && at(3) == 0 &&
	    at(4) == -1 && at(5) == 0 && at(7) == 7 && at(8) == 8 &&
	    at(9) == 0 && at(32) == 9);
  mp_copy_forget(&c);
  finish();
}
END_TEST

static void make_much(void)
{
  use(there, SPAN / 2 / page);
  memset(there + page, 1, SPAN / 4);
}

static bool is_all(const char *p, size_t n)
{
  return p[0] == 1 && memcmp(p, p + 1, n - 1) == 0;
}

START_TEST(large_memory)
{
  static void (*const much[])(void) = { make_much };
  mp_copy c = { NULL, 0, 0 };
  begin(much, 1);
  step();
  ck_assert_ptr_null(make(&c));
  ck_assert_uint_eq(c.bytes, SPAN / 4);
  ck_assert(at(0) == 0 && at(1 + SPAN / 4 / page) == 0);
  ck_assert(is_all(there + page, SPAN / 4));
  memset(there + page, 2, SPAN / 4);
  ck_assert_ptr_null(make(&c));
  ck_assert(is_all(there + page, SPAN / 4));
  mp_copy_forget(&c);
  finish();
}
END_TEST

START_TEST(only_addresses_that_a_reference_has)
{
  static void (*const much[])(void) = { make_much };
  mp_copy c = { NULL, 0, 0 };
  mp_maps m;
  uintptr_t last;
  begin(much, 1);
  step();
  m = look();
  last = (uintptr_t)there + SPAN / 2 - 1;
  ck_assert_uint_eq(mp_copy_size(&m, last), SPAN / 4);
  ck_assert_uint_eq(mp_copy_size(&m, last - 1), 0);
  ck_assert_ptr_null(mp_copy_make(&c, &m, last - 1));
  ck_assert_uint_eq(c.bytes, 0);
  ck_assert_int_eq(at(1), -1);
  mp_copy_forget(&c);
  mp_maps_free(&m);
  finish();
}
END_TEST

START_TEST(what_may_be_a_stack_is_copied_wherever_it_is)
{
  mp_copy c = { NULL, 0, 0 };
  mp_maps m = look_at_some();
  ck_assert_uint_eq(mp_copy_size(&m, 0), 3 * page);
  ck_assert_ptr_null(mp_copy_make(&c, &m, 0));
  ck_assert_uint_eq(c.bytes, 3 * page);
  ck_assert(at(0) == 1 && at(5) == 5);
  mp_copy_forget(&c);
  mp_maps_free(&m);
  finish();
}
END_TEST

/* -- What prevents one --------------------------------------------------- */

START_TEST(memory_of_our_own_stays)
{
  mp_copy c = { NULL, 0, 0 };
  const char *why;
  begin(steps, 1);
  step();
  use(there + 3 * page, 1);
  there[3 * page] = 42;
  why = make(&c);
  ck_assert_ptr_nonnull(why);
  ck_assert_ptr_nonnull(strstr(why, "luajit-mp has its own"));
  ck_assert_int_eq(at(3), 42);
  mp_copy_forget(&c);
  finish();
}
END_TEST

/* All that there is of ours at low addresses are Lua heaps. */
START_TEST(a_lua_heap_gives_way)
{
  mp_copy c = { NULL, 0, 0 };
  const char *why;
  begin_at(LOW, steps, 3);
  step();
  use(there + 3 * page, 2);
  memset(there + 3 * page, 42, 2 * page);
  use(there + 7 * page, 2);
  there[7 * page] = there[8 * page] = 43;
  why = make(&c);
  if (sizeof(void *) == 4) {  /* There others may be there, too. */
    ck_assert_ptr_nonnull(why);
  } else {
    ck_assert_ptr_null(why);
    ck_assert(at(0) == 1 && at(3) == 0 && at(4) == 0 && at(5) == 5 &&
	      at(7) == 0 && at(8) == 43);
    step();
    step();
    ck_assert_ptr_null(make(&c));
    ck_assert(at(7) == 7 && at(8) == 8);
  }
  mp_copy_forget(&c);
  finish();
}
END_TEST

/* Maps a page of this program's file, which was written to. */
static void map_file(char *p)
{
  int fd = open("/proc/self/exe", O_RDONLY);
  void *got = mmap(p, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		   fd, 0);
  if (fd < 0 || got != p) _exit(1);
  close(fd);
  use(p + page, 1);
  memset(p, 1, 2 * page);
}

static void make_variables(void)
{
  map_file(there + 2 * page);
  use(there + 10 * page, 1);
  there[10 * page] = 10;
}

/* Behind a file's memory is the rest of its variables. */
static void variables_stay(uintptr_t hint)
{
  static void (*const some[])(void) = { make_variables };
  mp_copy c = { NULL, 0, 0 };
  mp_maps m;
  begin_at(hint, some, 1);
  step();
  map_file(there + 2 * page);
  memset(there + 2 * page, 42, 2 * page);
  m = look();
  ck_assert_ptr_null(mp_copy_make(&c, &m, UINT64_MAX));
  ck_assert_ptr_null(mp_copy_make(&c, &m, UINT64_MAX));
  ck_assert_uint_eq(c.bytes, page);
  ck_assert(at(2) == 42 && at(3) == 42 && at(10) == 10);
  mp_maps_free(&m);
  mp_copy_forget(&c);
  finish();
}

START_TEST(variables_of_the_same_program)
{
  variables_stay(HIGH);
}
END_TEST

START_TEST(low_variables_of_the_same_program)
{
  variables_stay(LOW);
}
END_TEST

START_TEST(no_memory_is_said)
{
  mp_copy c = { NULL, 0, 0 };
  mp_maps m = look_at_some();
  const char *why;
  ck_assert_int_eq(m.n, 1);
  m.list[0].from = UINT64_C(1) << 62;  /* There are no such addresses. */
  m.list[0].to = m.list[0].from + page;
  why = mp_copy_make(&c, &m, UINT64_MAX);
  ck_assert_ptr_nonnull(why);
  /* To valgrind they are taken. */
  ck_assert(strstr(why, "there is no memory") != NULL ||
	    strstr(why, "luajit-mp has its own") != NULL);
  mp_copy_forget(&c);
  mp_maps_free(&m);
  finish();
}
END_TEST

START_TEST(a_process_that_ends)
{
  mp_copy c = { NULL, 0, 0 };
  mp_maps m = look_at_some();
  ck_assert_ptr_null(mp_copy_make(&c, &m, UINT64_MAX));
  finish();
  ck_assert_uint_eq(mp_copy_size(&m, UINT64_MAX), 0);
  ck_assert_ptr_null(mp_copy_make(&c, &m, UINT64_MAX));
  ck_assert_uint_eq(c.bytes, 0);
  mp_copy_forget(&c);
  mp_maps_free(&m);
}
END_TEST

CHECK_MAIN("copy", it_is_what_is_there, large_memory,
	   only_addresses_that_a_reference_has,
	   what_may_be_a_stack_is_copied_wherever_it_is,
	   memory_of_our_own_stays,
	   a_lua_heap_gives_way, variables_of_the_same_program,
	   low_variables_of_the_same_program, no_memory_is_said,
	   a_process_that_ends)
