/* SPDX-License-Identifier: MIT */
/* The contents of a snapshot of a profile that another thread adds to. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check_main.h"

#include "data/lock.h"
#include "profile/extent.h"

#include "lauxlib.h"

#define STACKS	300000

/* For windows only. */
void mp_scope_reduce_row(const mp_scope *s, uint32_t i, mp_row *r)
{
  (void)s; (void)i; (void)r;
}

/* There is no moment. */
const mp_counts *mp_scope_counts(const mp_scope *s, const mp_profile *of)
{
  (void)s;
  return &of->counts;
}

const mp_events *mp_scope_events(const mp_scope *s, const mp_profile *of)
{
  static const mp_events none;
  (void)s; (void)of;
  return &none;
}

const mp_alloc_options *mp_alloc_wants(const mp_alloc *h)
{
  static const mp_alloc_options none;
  (void)h;
  return &none;
}

static mp_profile p;
static atomic_bool done;

/* Each stack is of a function of its own, on top of the stack before. */
static void *add(void *arg)
{
  mp_stacks *s = &p.capture.stacks;
  mp_frame f = { .kind = MP_C, .linedefined = -1 };
  uint32_t i, stack = 0;
  (void)arg;
  for (i = 1; i <= STACKS; i++) {
    f.line = (int32_t)i;
    stack = mp_stacks_push(s, stack, mp_stacks_frame(s, &f));
    mp_counts_row(&p.counts, stack, 0, 'N', 0);
  }
  done = true;
  return NULL;
}

START_TEST(all_that_an_entry_refers_to_is_there)
{
  lua_State *L = luaL_newstate();
  unsigned long looks = 0;
  pthread_t t;
  mp_stacks_init(&p.capture.stacks);
  mp_counts_init(&p.counts);
  ck_assert_int_eq(pthread_create(&t, NULL, add, NULL), 0);
  for (; !done; looks++) {
    const mp_scope whole = { NULL, NULL, false, NULL, NULL, NULL };
    mp_extent e;
    mp_lock();
    mp_extent_push(L, &e, &p, &whole);
    if (e.rows > 0)
      ck_assert_uint_le(mp_extent_row(&e, &p, e.rows).stack, e.stacks);
    if (e.stacks > 0)
      ck_assert_uint_le(p.capture.stacks.nodes[e.stacks].frame, e.frames);
    mp_unlock();
    lua_settop(L, 0);
  }
  ck_assert_int_eq(pthread_join(t, NULL), 0);
  ck_assert_uint_gt(looks, 0);
  ck_assert_uint_eq(p.counts.nrows, STACKS);
  mp_stacks_free(&p.capture.stacks);
  mp_counts_free(&p.counts);
  lua_close(L);
}
END_TEST

CHECK_MAIN("extent", all_that_an_entry_refers_to_is_there)
