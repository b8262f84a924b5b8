/* SPDX-License-Identifier: MIT */
/*
** See vm/variant.h.
*/
#include "config.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "vm/layout.h"
#include "vm/own.h"
#include "vm/peek.h"
#include "vm/variant.h"

#include "lauxlib.h"
#include "luajit.h"

#ifdef MP_LAYOUT

static mp_variant current = {
  .prev = CF_PREV, .len = STR_LEN, .data = STR_DATA, .bufword = WORD
};
static bool is_found;

#define WORDS		(G_SEARCH / WORD)
#define REFS		(G_SEARCH / (int)sizeof(gcref))
#define INTS		(G_SEARCH / 4)
#define STATES_MAX	8	/* More states than that no variant adds. */
#define CHAINS_MIN	64	/* Size of a new state's table of strings. */
#define CHAINS_MAX	65536
#define BUFFER_MAX	65536	/* Bytes of its buffer for strings, at most. */

/* An integer of the global state in known situations. */
typedef struct seen {
  bool wrong;			/* It is not the VM's state. */
  bool gc, exit;		/* It was that of the collector, of an exit. */
  int32_t c, last;		/* In a C function; in the last allocation. */
} seen;

typedef enum doing { NOTHING, COLLECTING, INTERPRETING, COMPILED } doing;

typedef struct looking {
  const char *g;
  lua_State *L;
  lua_Alloc allocf;		/* The state's own allocator. */
  void *allocd;			/* Data of the state's own allocator. */
  bool ffi_half_open;
  doing doing;
  unsigned calls;		/* Of the allocator, in that. */
  seen ints[INTS];
  bool nobase[REFS];		/* These words are not the trace's base. */
  bool base[REFS];		/* These were one. */
  bool noprev[CF_SIZE / WORD];	/* These do not refer to the C frame below. */
  void *below;
  mp_variant v;
  bool ok;
} looking;

/* The only one of n marks that is not set; n: there is none or another one. */
static uint32_t only(const bool *wrong, uint32_t n)
{
  uint32_t i, one = n;
  for (i = 0; i < n; i++) {
    if (wrong[i]) continue;
    if (one != n) return n;
    one = i;
  }
  return one;
}

/* -- The VM's state ------------------------------------------------------ */

static int32_t int_at(const looking *s, uint32_t i)
{
  return AT(const volatile int32_t, s->g, (size_t)i * 4);
}

static const char *ref_at(const looking *s, uint32_t i)
{
  return REF(const char *, s->g, i * sizeof(gcref));
}

static const char *word_at(const looking *s, uint32_t i)
{
  return AT(const char *, s->g, (size_t)i * WORD);
}

/* C functions have a state, and below it are those of the collector and of
** exits. The states above are the interpreter's. */
static void see_c(looking *s)
{
  uint32_t i;
  for (i = 0; i < INTS; i++) {
    seen *w = &s->ints[i];
    w->c = int_at(s, i);
    if (w->c > VM_C || w->c < VM_C - STATES_MAX) w->wrong = true;
  }
}

static void see_int(const looking *s, seen *w, int32_t now)
{
  w->last = now;
  if (w->wrong) return;  /* Any number, with which nothing is computed. */
  if (s->doing == COLLECTING) {
    if (now == w->c + VM_GC - VM_C) w->gc = true;
    else if (now != VM_INTERP) w->wrong = true;  /* Moves a stack. */
  }
  if (s->doing == INTERPRETING && (now >= 0 || now <= w->c)) w->wrong = true;
  if (s->doing == COMPILED && now == w->c + VM_EXIT - VM_C) w->exit = true;
}

/* The base is noted only while compiled code runs. */
static void see_bases(looking *s)
{
  int32_t state = AT(const volatile int32_t, s->g, s->v.vmstate);
  const char *stack = REF(const char *, s->L, L_STACK);
  const char *end = REF(const char *, s->L, L_MAXSTACK);
  uint32_t i;
  for (i = 0; i < REFS; i++) {
    const char *p = ref_at(s, i);
    if (state > 0 && p > stack && p <= end) s->base[i] = true;
    else if (state > 0 || (s->doing == INTERPRETING && p != NULL))
      s->nobase[i] = true;
  }
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  looking *s = ud;
  uint32_t i;
  s->calls++;
  for (i = 0; i < INTS; i++) see_int(s, &s->ints[i], int_at(s, i));
  if (s->v.vmstate != 0) see_bases(s);
  return s->allocf(s->allocd, ptr, osize, nsize);
}

/* Runs a program, or collects, and looks at each call of the allocator. */
static bool watch(looking *s, lua_State *L, doing what, const char *program)
{
  if (program != NULL && luaL_loadstring(L, program) != 0) lua_error(L);
  s->doing = what;
  s->calls = 0;
  lua_setallocf(L, hook, s);
  if (program != NULL) lua_call(L, 0, 0);
  else lua_gc(L, LUA_GCCOLLECT, 0);
  lua_setallocf(L, s->allocf, s->allocd);
  s->doing = NOTHING;
  return s->calls > 0;
}

/* A loop that makes tables, in the end of which the last one is made when
** compiled code is left. */
static const char loop[] =
  "local k = { 1 } for i = 1, 300 do\n"
  "  local t = { i }\n"
  "  if i > 298 then k[1] = t end\n"
  "end";

/* The same, but its last table is made in compiled code. */
static const char tables[] =
  "local k = { 1 } for i = 1, 300 do k[1] = { i } end";

static bool run_compiled(looking *s, lua_State *L, const char *program)
{
  bool ok;
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_ON);
  ok = watch(s, L, COMPILED, program);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  return ok;
}

static bool find_state(looking *s, lua_State *L)
{
  bool wrong[INTS];
  uint32_t i;
  see_c(s);
  if (!watch(s, L, COLLECTING, NULL)) return false;
  lua_gc(L, LUA_GCSTOP, 0);
  if (!watch(s, L, INTERPRETING, tables) || !run_compiled(s, L, loop) ||
      !run_compiled(s, L, tables))
    return false;
  for (i = 0; i < INTS; i++) {
    const seen *w = &s->ints[i];
    wrong[i] = w->wrong || !w->gc || !w->exit || w->last <= 0 ||
	       w->last >= TRACES_MAX || int_at(s, i) != w->c;
  }
  i = only(wrong, INTS);
  if (i == INTS) return false;
  s->v.vmstate = i * 4;
  s->v.states = (uint32_t)(VM_C - s->ints[i].c);
  return true;
}

static bool find_base(looking *s, lua_State *L)
{
  uint32_t i;
  if (!watch(s, L, INTERPRETING, tables) || !run_compiled(s, L, tables))
    return false;
  for (i = 0; i < REFS; i++)
    if (!s->base[i] || ref_at(s, i) != NULL) s->nobase[i] = true;
  i = only(s->nobase, REFS);
  s->v.jitbase = i * (uint32_t)sizeof(gcref);
  return i != REFS;
}

/* -- The rest ------------------------------------------------------------ */

static bool find_allocator(looking *s)
{
  bool wrong[WORDS];
  uint32_t i;
  for (i = 0; i < WORDS; i++)
    wrong[i] = i + 1 == WORDS ||
	       AT(lua_Alloc, s->g, (size_t)i * WORD) != s->allocf ||
	       word_at(s, i + 1) != s->allocd;
  i = only(wrong, WORDS);
  s->v.alloc = i * (uint32_t)WORD;
  return i != WORDS;
}

/* In each C frame: the frame that was the innermost one before. */
static int nest(lua_State *L)
{
  looking *s = lua_touserdata(L, 1);
  int depth = (int)lua_tointeger(L, 2);
  void *cframe = AT(void *, L, L_CFRAME), *below = s->below;
  uint32_t i;
  for (i = 0; i < CF_SIZE / WORD; i++)
    if (AT(void *, CF_RAW(cframe), (size_t)i * WORD) != below)
      s->noprev[i] = true;
  if (REF(void *, CF_RAW(cframe), CF_L) != L) s->ok = false;
  if (depth == 0) return 0;
  s->below = cframe;
  lua_pushcfunction(L, nest);
  lua_pushlightuserdata(L, s);
  lua_pushinteger(L, depth - 1);
  if (depth & 1) lua_call(L, 2, 0);
  else if (lua_pcall(L, 2, 0, 0) != 0) return lua_error(L);
  return 0;
}

static bool find_prev(looking *s, lua_State *L)
{
  uint32_t i;
  s->below = AT(void *, L, L_CFRAME);
  lua_pushcfunction(L, nest);
  lua_pushlightuserdata(L, s);
  lua_pushinteger(L, 4);
  lua_call(L, 2, 0);
  i = only(s->noprev, CF_SIZE / WORD);
  s->v.prev = i * (uint32_t)WORD;
  return i != CF_SIZE / WORD;
}

/* Whether a table of strings begins with that one in some chain. */
static bool has_string(const char *chains, uint32_t size, const char *str)
{
  gcref part[CHAINS_MIN];
  uint32_t i, j;
  for (i = 0; i < size; i += CHAINS_MIN) {
    if (!mp_peek(part, chains + i * sizeof(gcref), sizeof(part))) return false;
    for (j = 0; j < CHAINS_MIN; j++)
      if ((part[j] & ~STRTAB_CHAIN) == (uint64_t)(uintptr_t)str) return true;
  }
  return false;
}

static bool find_table(looking *s, const char *str)
{
  bool wrong[WORDS];
  uint32_t i;
  for (i = 0; i < WORDS; i++) {
    const char *w = s->g + (size_t)i * WORD;
    uint32_t size = AT(uint32_t, w, STRTAB_MASK) + 1;
    wrong[i] = size < CHAINS_MIN || size > CHAINS_MAX || (size & (size - 1)) ||
	       !has_string(word_at(s, i), size, str);
  }
  i = only(wrong, WORDS);
  if (i == WORDS) return false;
  s->v.strtab = i * (uint32_t)WORD;
  return true;
}

/* Strings begin where the table says. */
static bool find_strings(looking *s, lua_State *L)
{
  static const struct { uint32_t len, data; } all[] = {
    { STR_LEN, STR_DATA }, { STR_OLDLEN, STR_OLDDATA }
  };
  const char *text;
  size_t len, i;
  lua_pushliteral(L, "a string that is new to the VM");
  text = lua_tolstring(L, -1, &len);
  for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
    const char *str = text - all[i].data;
    s->v.len = all[i].len;
    s->v.data = all[i].data;
    if (AT(uint32_t, str, s->v.len) == len && obj_gct(str) == GCT_STR &&
	find_table(s, str))
      break;
  }
  lua_pop(L, 1);
  return i < sizeof(all) / sizeof(*all);
}

/* The buffer has the text of the string that was joined last. True: it is at
** one place, if its words have that size. */
static bool find_buffer_of(looking *s, const char *text, size_t len, uint32_t n)
{
  bool wrong[REFS];
  char there[32];
  uint32_t i, count = G_SEARCH / n;
  for (i = 0; i < count; i++) {
    const char *w = s->g + (size_t)i * n, *b = BUF_WORD(w + 2 * n, n);
    size_t size = (size_t)(BUF_WORD(w + n, n) - b);
    wrong[i] = i + 2 >= count || size < len || size > BUFFER_MAX ||
	       !mp_peek(there, b, len) || memcmp(there, text, len) != 0;
  }
  i = only(wrong, count);
  if (i == count) return false;
  s->v.tmpbuf = i * n;
  s->v.bufword = n;
  return true;
}

static bool find_buffer(looking *s, lua_State *L)
{
  static const char text[] = "joined in a buffer";
  lua_pushliteral(L, "joined in ");
  lua_pushliteral(L, "a buffer");
  lua_concat(L, 2);
  lua_pop(L, 1);
  return find_buffer_of(s, text, sizeof(text) - 1, WORD) ||
	 find_buffer_of(s, text, sizeof(text) - 1, sizeof(gcref));
}

/* -- The state ----------------------------------------------------------- */

static int look(lua_State *L)
{
  looking *s = lua_touserdata(L, 1);
  char head[G_SEARCH];
  if (obj_gct(L) != GCT_THREAD) return 0;
  s->g = AT(const char *, L, L_GLREF);
  s->L = L;
  if (s->g == NULL || !mp_peek(head, s->g, sizeof(head))) return 0;
  mp_own_open(L, &s->ffi_half_open);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  s->ok = true;
  s->ok = find_allocator(s) && find_prev(s, L) && find_state(s, L) &&
	  find_base(s, L) && find_strings(s, L) && find_buffer(s, L) && s->ok;
  return 0;
}

bool mp_variant_find(mp_variant *v)
{
  lua_State *L = luaL_newstate();
  looking s;
  if (L == NULL) return false;
  memset(&s, 0, sizeof(s));
  s.allocf = lua_getallocf(L, &s.allocd);
  if (lua_cpcall(L, look, &s) != 0) s.ok = false;
  lua_setallocf(L, s.allocf, s.allocd);
  mp_own_close(L, s.ffi_half_open);
  *v = s.v;
  return s.ok;
}

static void find_once(void)
{
  mp_variant v;
  is_found = mp_variant_find(&v);
  if (is_found) current = v;
}

const mp_variant *mp_variant_once(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_once);
  return is_found ? &current : NULL;
}

uint32_t mp_variant_prev(void) { return current.prev; }
uint32_t mp_variant_len(void) { return current.len; }
uint32_t mp_variant_data(void) { return current.data; }
uint32_t mp_variant_bufword(void) { return current.bufword; }

void mp_variant_assume(uint32_t prev, uint32_t len, uint32_t data,
		       uint32_t bufword)
{
  current.prev = prev;
  current.len = len;
  current.data = data;
  current.bufword = bufword;
}

#endif
