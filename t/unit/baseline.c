/* SPDX-License-Identifier: MIT */
/* An earlier heap walk, to which later ones are compared. */
#include "config.h"

#include "check_main.h"

#include "data/mem.h"
#include "heapwalk/baseline.h"

static mp_holder line(uint32_t parent, const char *label, const char *type,
		      uint64_t bytes)
{
  mp_holder l = { .parent = parent, .type = type, .bytes = bytes };
  l.label = (char *)(uintptr_t)label;
  return l;
}

static void init(mp_holders *s, mp_holder *lines, uint32_t n)
{
  memset(s, 0, sizeof(*s));
  s->lines = lines;
  s->nlines = n;
}

static double was(const mp_baseline *b, const mp_holders *s, uint32_t i)
{
  uint64_t paths[8];
  mp_baseline_paths(s, paths);
  return mp_baseline_bytes(b, paths[i]);
}

START_TEST(a_path_is_found_again)
{
  mp_holder before[] = {
    line(0, NULL, "VM", 90), line(0, "_G", "table", 80),
    line(1, ".cache", "table", 30), line(1, "[1]", "string", 7)
  };
  mp_holder after[] = {
    line(0, NULL, "VM", 190), line(0, "registry", "table", 9),
    line(0, "_G", "table", 180), line(2, ".queue", "table", 20),
    line(2, ".cache", "table", 130), line(2, "[1]", "table", 8),
    line(1, ".cache", "table", 3)
  };
  mp_baseline b;
  mp_holders s;
  mp_baseline_init(&b);
  init(&s, before, 4);
  mp_baseline_take(&b, &s, 1.5, 5);
  ck_assert(b.at == 1.5 && b.least == 5);
  init(&s, after, 7);
  ck_assert(was(&b, &s, 2) == 80);
  ck_assert(was(&b, &s, 4) == 30);
  ck_assert(was(&b, &s, 1) < 0);  /* There was no such path, */
  ck_assert(was(&b, &s, 3) < 0);
  ck_assert(was(&b, &s, 5) < 0);  /* nor one to a table, */
  ck_assert(was(&b, &s, 6) < 0);  /* nor from there. */
  mp_baseline_take(&b, &s, 2.5, 6);
  ck_assert(was(&b, &s, 4) == 130);
  mp_baseline_free(&b);
  ck_assert(b.at < 0);
}
END_TEST

START_TEST(two_lines_of_one_path_are_not_known)
{
  mp_holder lines[] = {
    line(0, NULL, "VM", 90), line(0, "[*]", "table", 40),
    line(0, "[*]", "table", 20), line(0, "[*]", "string", 10)
  };
  mp_baseline b;
  mp_holders s;
  mp_baseline_init(&b);
  init(&s, lines, 4);
  mp_baseline_take(&b, &s, 1, 5);
  ck_assert(was(&b, &s, 1) < 0);
  ck_assert(was(&b, &s, 2) < 0);
  ck_assert(was(&b, &s, 3) == 10);
  mp_baseline_free(&b);
}
END_TEST

START_TEST(no_memory_is_no_baseline)
{
  mp_holder lines[] = {
    line(0, NULL, "VM", 90), line(0, "_G", "table", 40)
  };
  size_t bytes = mp_mem_bytes;
  mp_baseline b;
  mp_holders s;
  int left = -1;
  mp_baseline_init(&b);
  init(&s, lines, 2);
  while (b.at < 0) {
    mp_mem_left = ++left;
    mp_baseline_take(&b, &s, 1, 5);
    mp_mem_left = -1;
    ck_assert(b.at >= 0 || mp_mem_bytes == bytes);
  }
  ck_assert_int_ge(left, 3);
  ck_assert(was(&b, &s, 1) == 40);
  mp_baseline_free(&b);
  ck_assert(mp_mem_bytes == bytes);
}
END_TEST

CHECK_MAIN("baseline", a_path_is_found_again,
	   two_lines_of_one_path_are_not_known, no_memory_is_no_baseline)
