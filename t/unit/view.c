/* SPDX-License-Identifier: MIT */
/* The view of a stack, at every allocation of programs that do everything that
** stacks can do: the VM's memory is not written to, and outside compiled code
** names and lines are those of luaJIT_profile_dumpstack, frame by frame. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "check_vm.h"

#include "data/map.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/view.h"

#include "luajit.h"

#ifdef MP_LAYOUT

static mp_vm vm;
static mp_walk walk;
static mp_view view;
static bool busy;		/* It is the dump that allocates. */
static unsigned long seen, judged, changed, differ, unread;
static unsigned long every;	/* Looks at each so many allocations, */
static unsigned long passed;	/* of which these came since the last look. */
static char text[1 << 20];	/* What a dump should say. */
static size_t len;

/* -- The VM's memory ----------------------------------------------------- */

static uint64_t sum_of(const void *p, size_t n)
{
  const uint64_t *w = p;
  uint64_t h = 0;
  for (n /= 8; n > 0; n--) h = mp_mix(h, *w++);
  return h;
}

/* The thread, its stack, and its C frames. */
static uint64_t sum_of_thread(lua_State *L)
{
  slot *stack = REF(slot *, L, L_STACK), *end = REF(slot *, L, L_MAXSTACK);
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  uint64_t h = mp_mix(sum_of(L, L_SIZE),
		      sum_of(stack, (size_t)(end - stack) * sizeof(slot)));
  for (; cf != NULL; cf = mp_frame_below(cf))
    h = mp_mix(h, sum_of(cf, CF_SIZE));
  return h;
}

/* -- The judge ----------------------------------------------------------- */

#define FORMAT	"pF\1l\2"	/* Each frame: its name, and its line. */

static void put(const char *p, size_t n)
{
  ck_assert_uint_lt(len + n, sizeof(text));
  memcpy(text + len, p, n);
  len += n;
}

/* False: a builtin of the VM in bytecode, which has no line. */
static bool put_chunk(const char *proto)
{
  size_t n;
  const char *s = mp_proto_chunkname(proto, &n);
  if (mp_proto_firstline(proto) < 0) {
    put("[builtin:", 9);
    put(s, n);
    put("]", 1);
    return false;
  }
  if (*s == '@' || *s == '=') put(s + 1, n - 1);
  else put("[string]", 8);
  return true;
}

/* A place: of a function without a name, or (line >= 0) where it is. */
static void put_place(const mp_vmframe *f, int line)
{
  char buf[64];
  int n = 0;
  if (f->proto != NULL) {
    if (!put_chunk(f->proto)) return;
    n = snprintf(buf, sizeof(buf), ":%d",
		 line >= 0 ? line : mp_proto_firstline(f->proto));
  } else if (f->builtin != 0) {
    n = snprintf(buf, sizeof(buf), "[builtin#%d]", f->builtin);
  } else {
    put("@", 1);
    n = snprintf(buf, sizeof(buf), "0x%08llx",
		 (unsigned long long)(uintptr_t)f->cfunc);
  }
  put(buf, (size_t)n);
}

static void put_frame(const mp_vmframe *f)
{
  const char *name;
  int line = mp_view_info(&view, f, &name);
  if (name != NULL) {
    if (f->proto != NULL && mp_proto_firstline(f->proto) >= 0) {
      put_chunk(f->proto);
      put(":", 1);
    }
    put(name, strlen(name));
  } else {
    put_place(f, -1);
  }
  put("\1", 1);
  put_place(f, line);
  put("\2", 1);
}

static size_t owed;		/* Bytes of LuaJIT's dump buffer. */

static void judge(lua_State *L, int n)
{
  size_t dumped;
  const char *dump;
  gcsize total = *mp_vm_total(&vm);
  int i;
  for (len = 0, i = 0; i < n; i++) put_frame(&view.frames[i]);
  busy = true;
  dump = luaJIT_profile_dumpstack(L, FORMAT, 100000, &dumped);
  busy = false;
  owed += *mp_vm_total(&vm) - total;
  *mp_vm_total(&vm) = total;
  judged++;
  if (dumped == len && memcmp(dump, text, len) == 0) return;
  if (differ++ == 0)
    fprintf(stderr, "dump:\n%.*s\nview:\n%.*s\n", (int)dumped, dump, (int)len,
	    text);
}

/* -- Allocations --------------------------------------------------------- */

static void look(void)
{
  const char *name;
  uint32_t below;
  uint64_t before;
  mp_where w;
  bool cut;
  int state, i, n;
  mp_walk_collected(&walk);
  if (!mp_where_running(&vm, &walk, &w, &state)) return;
  seen++;
  before = sum_of_thread(w.L);
  n = mp_view_frames(&view, &vm, &walk, &w, &below, &cut);
  for (i = 0; i < n; i++) mp_view_info(&view, &view.frames[i], &name);
  if (sum_of_thread(w.L) != before) changed++;
  if (n < 0 || cut || below != 0) unread++;
  else if (!mp_vm_ontrace(&vm) && w.trace == NULL && !w.lost &&
	   view.copy.L == w.L)
    judge(w.L, n);
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  if (ptr != NULL && !busy && osize >= MP_VM_LARGE && mp_vm_watched(ptr))
    mp_vm_freeing(&vm, ptr);
  if (nsize != 0 && !busy && ++passed >= every) {
    passed = 0;
    look();
  }
  return real->f(real->ud, ptr, osize, nsize);
}

static void on_sample(void *data, lua_State *L, int samples, int state)
{
  (void)data; (void)L; (void)samples; (void)state;
}

static void check(const char *code)
{
  bool slow = getenv("MP_TEST_SLOW") != NULL;
  int i;
  every = slow ? 17 : 1;
  for (i = 0; i < 4; i += slow ? 3 : 1) {
    lua_State *L = check_open(&vm, i != 0);
    if (L == NULL) return;
    if (i >= 2) ck_assert_int_eq(luaL_dostring(L,
      "require('jit.opt').start('hotloop=2', 'hotexit=1')"), 0);
    seen = judged = changed = differ = unread = 0;
    /* Its end gives back what the dumps took. */
    luaJIT_profile_start(L, i == 3 ? "li1000000" : "i1000000", on_sample, NULL);
    check_run(L, code, hook);
    luaJIT_profile_stop(L);
    ck_assert_uint_gt(seen, 500 / every);
    ck_assert_uint_gt(judged, i == 0 ? seen / 2 : 0);
    ck_assert_uint_eq(changed, 0);
    ck_assert_uint_eq(differ, 0);
    ck_assert_uint_eq(unread, 0);
    *mp_vm_total(&vm) += owed;  /* A VM with assertions looks at it. */
    owed = 0;
    lua_close(L);
  }
}

#else

static void check(const char *code) { (void)code; (void)check_open; }

#endif

PROGRAM_TEST(recursion)
PROGRAM_TEST(deep)
PROGRAM_TEST(through_c)
PROGRAM_TEST(coroutines)
PROGRAM_TEST(functions_collected)
PROGRAM_TEST(finalizers)
PROGRAM_TEST(hooks)
PROGRAM_TEST(calls)

CHECK_MAIN("view", recursion, deep, through_c, coroutines, functions_collected,
	   finalizers, hooks, calls)
