/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's own allocator. See vm/arena.h.
**
** The layout is proved on a state of its own, whose chunks must fit into their
** segments without a gap, and must add up to what its collector counts.
*/
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "vm/arena.h"
#include "vm/layout.h"
#include "vm/peek.h"

#include "lauxlib.h"

#ifdef MP_LAYOUT

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lua_Alloc builtin;	/* The allocator; NULL: not proved. */
static atomic_bool tried;

#define SEGMENTS_MAX	100000	/* More than there ever are. */

typedef struct receiver {
  mp_arena_see *see;		/* Or NULL. */
  mp_arena_block *block;	/* Or NULL. */
  void *data;
  uint64_t left;		/* More chunks that there may be. */
} receiver;

/* A chunk that is free. */
static void look_free(mp_segment *s, uintptr_t n, mp_arena *a)
{
  s->free += n;
  if (n > a->largest) a->largest = n;
}

/* Adds up the chunks of a segment. False: they do not fit. The chunk at the end
** that is not divided yet may be smaller than any other. */
static bool look_segment(mp_segment *s, const char *top, mp_arena *a,
			 receiver *r)
{
  const char *c = s->base, *end = c + s->size;
  while (c + CHUNK_MIN <= end) {
    uintptr_t head = AT(uintptr_t, c, CHUNK_HEAD), n = head & ~CHUNK_BITS;
    if (n > (uintptr_t)(end - c) || r->left-- == 0) return false;
    if (c == top) {
      look_free(s, n, a);
      return true;
    }
    if (n < CHUNK_MIN) return head == CHUNK_FENCE;
    if (head & CHUNK_INUSE) {
      s->used += n;
      a->chunks++;
      if (r->block != NULL)
	r->block(r->data, (char *)c + CHUNK_DATA, n - CHUNK_HEAD);
    } else {
      look_free(s, n, a);
    }
    c += n;
  }
  return true;
}

static bool look(const char *m, mp_arena *a, receiver *r)
{
  const char *top = AT(const char *, m, ARENA_TOP), *s;
  uint32_t left = SEGMENTS_MAX;
  memset(a, 0, sizeof(*a));
  for (s = m + ARENA_SEGMENT; s != NULL; s = AT(const char *, s, SEG_NEXT)) {
    mp_segment seg = { AT(const char *, s, SEG_BASE),
		       AT(uintptr_t, s, SEG_SIZE), 0, 0 };
    if (left-- == 0 ||
	(((uintptr_t)seg.base | seg.size) & (SEG_ALIGN - 1)) != 0)
      return false;
    if (!look_segment(&seg, top, a, r)) return false;
    a->system += seg.size;
    a->used += seg.used;
    a->free += seg.free;
    if (r->see != NULL) r->see(r->data, &seg);
  }
  return true;
}

/* Whether the data of an allocator is an arena, which lies in a segment of its
** own. A build may have malloc in place of LuaJIT's allocator, without data. */
static bool is_arena(const char *m)
{
  const char *seg[3], *s = m == NULL ? NULL : m + ARENA_SEGMENT;
  int i;
  for (i = 0; s != NULL && i < SEGMENTS_MAX; i++) {
    if (!mp_peek(seg, s, sizeof(seg))) return false;
    if (m >= seg[0] && (uintptr_t)(m - seg[0]) < (uintptr_t)seg[1]) return true;
    s = seg[2];
  }
  return false;
}

bool mp_arena_copied(const void *ud, uint64_t most, mp_arena *a)
{
  receiver nobody = { NULL, NULL, NULL, most };
  return is_arena(ud) && look(ud, a, &nobody);
}

static void prove(void)
{
  lua_State *L = luaL_newstate();
  receiver nobody = { NULL, NULL, NULL, UINT64_MAX };
  uint64_t total;
  mp_arena a;
  lua_Alloc f;
  void *ud;
  if (L == NULL) return;
  f = lua_getallocf(L, &ud);
  total = (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
	  (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0);
  /* A chunk has a word of its own, and there are few in a new state. */
  if (is_arena(ud) && look(ud, &a, &nobody) && a.used >= total &&
      a.used < total * 3 / 2 + 4096 && a.free + a.used <= a.system)
    builtin = f;
  lua_close(L);
}

static bool is_builtin(lua_Alloc f)
{
  if (!tried) {  /* A child that was forked may not get the lock. */
    pthread_mutex_lock(&mutex);
    if (!tried) prove();
    tried = true;
    pthread_mutex_unlock(&mutex);
  }
  return builtin != NULL && f == builtin;
}

bool mp_arena_each(lua_Alloc f, void *ud, mp_arena *a, mp_arena_see *see,
		   void *data)
{
  receiver r = { see, NULL, data, UINT64_MAX };
  memset(a, 0, sizeof(*a));
  return is_builtin(f) && look(ud, a, &r);
}

bool mp_arena_blocks(lua_Alloc f, void *ud, mp_arena_block *see, void *data)
{
  receiver r = { NULL, see, data, UINT64_MAX };
  mp_arena a;
  return is_builtin(f) && look(ud, &a, &r);
}

size_t mp_arena_room(const char *p)
{
  uintptr_t head = AT(const uintptr_t, p, CHUNK_HEAD - CHUNK_DATA);
  return (head & ~CHUNK_BITS) - CHUNK_HEAD;
}

#endif

bool mp_arena_look(lua_Alloc f, void *ud, mp_arena *a)
{
  return mp_arena_each(f, ud, a, NULL, NULL);
}
