/* SPDX-License-Identifier: MIT */
/* mp_stacks: equal frames and stacks get equal ids, others do not. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "data/mem.h"
#include "data/stacks.h"

static mp_frame lua_frame(const char *name, const char *source, int line)
{
  mp_frame f;
  memset(&f, 0, sizeof(f));
  f.kind = MP_LUA;
  f.name = name;
  f.namelen = name ? (uint32_t)strlen(name) : 0;
  f.source = source;
  f.sourcelen = source ? (uint32_t)strlen(source) : 0;
  f.line = line;
  f.linedefined = 1;
  return f;
}

START_TEST(equal_frames_are_one)
{
  mp_stacks s;
  char copy[] = "f";
  mp_frame a = lua_frame("f", "app.lua", 3), b = lua_frame(copy, "app.lua", 3);
  mp_stacks_init(&s);
  ck_assert_uint_eq(mp_stacks_frame(&s, &a), 1);
  ck_assert_uint_eq(mp_stacks_frame(&s, &b), 1);
  copy[0] = 'x';  /* The table has its own copy. */
  ck_assert_uint_eq(mp_stacks_frame(&s, &a), 1);
  ck_assert(memcmp(s.frames[1].name, "f", 1) == 0);
  ck_assert_uint_eq(s.nframes, 1);
  mp_stacks_free(&s);
}
END_TEST

START_TEST(different_frames_differ)
{
  mp_stacks s;
  mp_frame f[9];
  uint32_t i, j, id[9];
  for (i = 0; i < 9; i++) f[i] = lua_frame("f", "a.lua", 3);
  f[1].line = 4;
  f[2].linedefined = 2;
  f[3].name = "g";
  f[4].source = "b.lua";
  f[5].kind = MP_C;
  f[6].name = NULL;
  f[6].namelen = 0;
  f[7].namelen = 0;  /* The empty name is not the missing one. */
  f[8].builtin = 5;
  mp_stacks_init(&s);
  for (i = 0; i < 9; i++) {
    id[i] = mp_stacks_frame(&s, &f[i]);
    ck_assert_uint_eq(id[i], i + 1);
    for (j = 0; j < i; j++) ck_assert_uint_ne(id[i], id[j]);
  }
  ck_assert_ptr_null(s.frames[id[6]].name);
  mp_stacks_free(&s);
}
END_TEST

START_TEST(names_hold_any_byte)
{
  mp_stacks s;
  mp_frame a = lua_frame("a", "x", 1), b = a;
  a.name = "a\0b";
  b.name = "a\0c";
  a.namelen = b.namelen = 3;
  mp_stacks_init(&s);
  ck_assert_uint_ne(mp_stacks_frame(&s, &a), mp_stacks_frame(&s, &b));
  mp_stacks_free(&s);
}
END_TEST

START_TEST(huge_names)
{
  mp_stacks s;
  size_t n = 1 << 20;
  char *big = malloc(n);
  mp_frame f = lua_frame("f", "x", 1);
  memset(big, 'z', n);
  f.source = big;
  f.sourcelen = (uint32_t)n;
  mp_stacks_init(&s);
  ck_assert_uint_eq(mp_stacks_frame(&s, &f), 1);
  f.line = 2;
  ck_assert_uint_eq(mp_stacks_frame(&s, &f), 2);
  ck_assert_ptr_eq(s.frames[1].source, s.frames[2].source);
  big[n - 1] = 'y';
  ck_assert_uint_eq(mp_stacks_frame(&s, &f), 3);
  mp_stacks_free(&s);
  free(big);
}
END_TEST

START_TEST(stacks_are_paths)
{
  mp_stacks s;
  uint32_t a, ab, ba;
  mp_stacks_init(&s);
  a = mp_stacks_push(&s, 0, 1);
  ab = mp_stacks_push(&s, a, 2);
  ba = mp_stacks_push(&s, mp_stacks_push(&s, 0, 2), 1);
  ck_assert_uint_ne(ab, ba);
  ck_assert_uint_eq(mp_stacks_push(&s, a, 2), ab);
  ck_assert_uint_eq(s.nodes[ab].parent, a);
  ck_assert_uint_eq(s.nodes[ab].frame, 2);
  ck_assert_uint_eq(s.nnodes, 4);
  mp_stacks_free(&s);
}
END_TEST

/* The key under which a map holds a value. */
static uint64_t key_of(const mp_map *m, uint32_t val)
{
  uint32_t i;
  for (i = 0; i <= m->mask; i++)
    if (m->vals[i] == val) return m->keys[i];
  ck_abort_msg("no such value");
  return 0;
}

/* Makes two frames' hashes collide: another table tells the hash of b, and
** then a stands there. */
static void collide(const mp_frame *a, const mp_frame *b)
{
  mp_stacks s, other;
  mp_stacks_init(&s);
  mp_stacks_init(&other);
  ck_assert_uint_eq(mp_stacks_frame(&other, b), 1);
  ck_assert_uint_eq(mp_stacks_frame(&s, a), 1);
  ck_assert(mp_map_put(&s.framemap, key_of(&other.framemap, 1), 1));
  ck_assert_uint_eq(mp_stacks_frame(&s, b), 2);
  ck_assert_uint_eq(mp_stacks_frame(&s, b), 2);
  ck_assert_uint_eq(mp_stacks_frame(&s, a), 1);
  mp_stacks_free(&other);
  mp_stacks_free(&s);
}

START_TEST(frames_that_collide_differ)
{
  mp_frame a = lua_frame("a", "a.lua", 1), b = lua_frame("b", "a.lua", 1);
  mp_frame empty = lua_frame("", "a.lua", 1);
  mp_frame none = lua_frame(NULL, "a.lua", 1);
  collide(&a, &b);
  collide(&empty, &none);
  collide(&none, &empty);
}
END_TEST

START_TEST(sources_that_collide_differ)
{
  mp_stacks s, other;
  mp_frame a = lua_frame("f", "a.lua", 1), b = lua_frame("f", "b.lua", 1);
  mp_stacks_init(&s);
  mp_stacks_init(&other);
  ck_assert_uint_eq(mp_stacks_frame(&other, &b), 1);
  ck_assert_uint_eq(mp_stacks_frame(&s, &a), 1);
  ck_assert(mp_map_put(&s.stringmap, key_of(&other.stringmap, 1), 1));
  ck_assert_uint_eq(mp_stacks_frame(&s, &b), 2);
  ck_assert(memcmp(s.frames[1].source, "a.lua", 5) == 0);
  ck_assert(memcmp(s.frames[2].source, "b.lua", 5) == 0);
  mp_stacks_free(&other);
  mp_stacks_free(&s);
}
END_TEST

START_TEST(stacks_that_collide_differ)
{
  mp_stacks s, other;
  mp_stacks_init(&s);
  mp_stacks_init(&other);
  ck_assert_uint_eq(mp_stacks_push(&other, 0, 8), 1);
  ck_assert_uint_eq(mp_stacks_push(&s, 0, 7), 1);
  ck_assert(mp_map_put(&s.nodemap, key_of(&other.nodemap, 1), 1));
  ck_assert_uint_eq(mp_stacks_push(&s, 0, 8), 2);
  ck_assert_uint_eq(mp_stacks_push(&s, 0, 8), 2);
  ck_assert_uint_eq(mp_stacks_push(&s, 0, 7), 1);
  mp_stacks_free(&other);
  mp_stacks_free(&s);
}
END_TEST

/* A deep stack, and one that branches everywhere; ids have no gaps. */
START_TEST(many_stacks)
{
  mp_stacks s;
  uint32_t i, top = 0, wrong = 0;
  mp_stacks_init(&s);
  for (i = 1; i <= 20000; i++) {
    top = mp_stacks_push(&s, top, 1 + i % 3);
    wrong += top != i;
  }
  for (i = 1; i <= 20000; i++)
    wrong += mp_stacks_push(&s, i, 9) != 20000 + i;
  for (i = 1; i <= 20000; i++)
    wrong += mp_stacks_push(&s, i - 1, 1 + i % 3) != i;
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(s.nnodes, 40000);
  mp_stacks_free(&s);
}
END_TEST

/* Each allocation that interning makes in an empty table fails once. */
START_TEST(every_allocation_may_fail)
{
  mp_frame f = lua_frame("name", "source", 1);
  int n;
  for (n = 0; ; n++) {
    mp_stacks s;
    uint32_t id;
    mp_stacks_init(&s);
    mp_mem_left = n;
    id = mp_stacks_frame(&s, &f);
    mp_mem_left = -1;
    if (id != MP_NONE) {
      mp_stacks_free(&s);
      break;
    }
    ck_assert_uint_eq(s.nframes, 0);
    ck_assert_uint_eq(mp_stacks_frame(&s, &f), 1);
    ck_assert(memcmp(s.frames[1].source, "source", 6) == 0);
    mp_stacks_free(&s);
  }
  ck_assert_int_eq(n, 6);  /* The array, two maps of two, the strings. */
}
END_TEST

/* Interns 300 frames and stacks, the n-th allocation failing each time. */
START_TEST(no_memory_loses_nothing)
{
  mp_stacks s;
  int i, failures = 0;
  char name[16];
  mp_stacks_init(&s);
  for (i = 1; i <= 300; i++) {
    mp_frame f;
    uint32_t id, stack;
    sprintf(name, "f%d", i);
    f = lua_frame(name, name, i);
    mp_mem_left = 0;
    while ((id = mp_stacks_frame(&s, &f)) == MP_NONE) {
      mp_mem_left = ++failures % 5;
      ck_assert_uint_eq(s.nframes, i - 1);
    }
    ck_assert_uint_eq(id, i);
    mp_mem_left = 0;
    while ((stack = mp_stacks_push(&s, (uint32_t)i - 1, id)) == MP_NONE)
      mp_mem_left = ++failures % 5;
    ck_assert_uint_eq(stack, i);
  }
  mp_mem_left = -1;
  ck_assert_int_gt(failures, 10);
  for (i = 1; i <= 300; i++) {
    sprintf(name, "f%d", i);
    ck_assert_uint_eq(s.frames[i].namelen, strlen(name));
    ck_assert(memcmp(s.frames[i].name, name, strlen(name)) == 0);
    ck_assert(memcmp(s.frames[i].source, name, strlen(name)) == 0);
  }
  mp_stacks_free(&s);
}
END_TEST

CHECK_MAIN("stacks", equal_frames_are_one, different_frames_differ,
	   names_hold_any_byte, huge_names, stacks_are_paths,
	   frames_that_collide_differ, sources_that_collide_differ,
	   stacks_that_collide_differ, many_stacks, every_allocation_may_fail,
	   no_memory_loses_nothing)
