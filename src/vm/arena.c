/* SPDX-License-Identifier: MIT */
/*
** LuaJIT's own allocator. See vm/arena.h.
**
** The layout is proved on a state of its own, whose chunks must fit into their
** segments without a gap, and must add up to what its collector counts.
*/
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "vm/arena.h"
#include "vm/layout.h"

#include "lauxlib.h"

#ifdef MP_LAYOUT

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lua_Alloc builtin;	/* The allocator; NULL: not proved. */
static bool tried;

/* One segment: adds up its chunks. False: they do not fit. */
static bool look_segment(const char *base, uint64_t size, const char *top,
			 mp_arena *a, uint64_t *used)
{
  const char *c = base, *end = base + size;
  a->system += size;
  while (c + CHUNK_MIN <= end) {
    uint64_t head = AT(uint64_t, c, CHUNK_HEAD), n = head & ~CHUNK_BITS;
    if (n < CHUNK_MIN) return head == CHUNK_FENCE;
    if (n > (uint64_t)(end - c)) return false;
    if (head & CHUNK_INUSE) {
      *used += n;
    } else {
      a->free += n;
      if (n > a->largest) a->largest = n;
    }
    if (c == top) return true;
    c += n;
  }
  return true;
}

static bool look(const char *m, mp_arena *a, uint64_t *used)
{
  const char *top = AT(const char *, m, ARENA_TOP), *s;
  memset(a, 0, sizeof(*a));
  *used = 0;
  for (s = m + ARENA_SEGMENT; s != NULL; s = AT(const char *, s, SEG_NEXT)) {
    const char *base = AT(const char *, s, SEG_BASE);
    uint64_t size = AT(uint64_t, s, SEG_SIZE);
    if (((uintptr_t)base | size) & (SEG_ALIGN - 1)) return false;
    if (!look_segment(base, size, top, a, used)) return false;
  }
  return true;
}

static void prove(void)
{
  lua_State *L = luaL_newstate();
  uint64_t used, total;
  mp_arena a;
  lua_Alloc f;
  void *ud;
  if (L == NULL) return;
  f = lua_getallocf(L, &ud);
  total = (uint64_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
	  (uint64_t)lua_gc(L, LUA_GCCOUNTB, 0);
  /* A chunk has 8 bytes of its own, and there are few in a new state. */
  if (look(ud, &a, &used) && used >= total && used < total * 3 / 2 + 4096 &&
      a.free + used <= a.system)
    builtin = f;
  lua_close(L);
}

bool mp_arena_look(lua_Alloc f, void *ud, mp_arena *a)
{
  uint64_t used;
  pthread_mutex_lock(&mutex);
  if (!tried) prove();
  tried = true;
  pthread_mutex_unlock(&mutex);
  memset(a, 0, sizeof(*a));
  return builtin != NULL && f == builtin && look(ud, a, &used);
}

#else

bool mp_arena_look(lua_Alloc f, void *ud, mp_arena *a)
{
  (void)f; (void)ud;
  memset(a, 0, sizeof(*a));
  return false;
}

#endif
