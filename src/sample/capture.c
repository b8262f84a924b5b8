/*
** One capture for both samplers: what a thread is doing, as a row of counts.
**
** LuaJIT's luaJIT_profile_dumpstack tells what the frames of a stack are
** called; it costs microseconds. So a stack that was seen before is
** recognised by a key made of its raw words (mp_where), and a frame that was
** seen before by the words that its name and line depend on: only a stack
** with a new frame in it is dumped.
**
** Without the VM's layout (vm/vm.h) every stack is dumped. That happens only
** in the profile callback, where the VM is at a safepoint.
*/
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "data/mem.h"
#include "sample/capture.h"
#include "vm/frame.h"
#include "vm/type.h"
#include "vm/where.h"

#include "luajit.h"

/* -- The dump buffer ----------------------------------------------------- */

/* LuaJIT grows its dump buffer through the VM's allocator, and raises an
** error where that fails: out of a hook inside an allocator, it must not. So
** while a stack is dumped the VM has this allocator, which serves the buffer
** from a reservation that is never used up: the number of frames is bounded,
** and so are the names in them (DUMP_NAMES) before the dump. */
#define DUMP_MAX	((size_t)32 << 20)
#define DUMP_NAMES	((size_t)8 << 20)

/* Recursive: when LuaJIT's profiler is started or stopped under it all traces
** are flushed, of which the program may have itself be told. */
static pthread_mutex_t dump_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void *mp_dump_region;

static lua_Alloc saved_allocf;	/* What the VM had before the lock. */
static void *saved_allocd;
static size_t saved_total;

static void *dump_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
  (void)ud;
  if (ptr != NULL && ptr != mp_dump_region) {
    /* Another profiler of this VM had grown the buffer. */
    if (nsize != 0) memcpy(mp_dump_region, ptr, osize < nsize ? osize : nsize);
    saved_allocf(saved_allocd, ptr, osize, 0);
  }
  return nsize == 0 || nsize > DUMP_MAX ? NULL : mp_dump_region;
}

void mp_capture_mutex(bool lock)
{
  if (lock) pthread_mutex_lock(&dump_mutex);
  else pthread_mutex_unlock(&dump_mutex);
}

void mp_capture_forked(void)
{
  dump_mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static bool reserve_region(void)
{
  mp_capture_mutex(true);
  mp_mem_mutex = mp_capture_mutex;
  if (mp_dump_region == NULL) {
    void *p = mmap(NULL, DUMP_MAX, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) mp_dump_region = p;
  }
  mp_capture_mutex(false);
  return mp_dump_region != NULL;
}

void mp_capture_lock(mp_capture *c)
{
  mp_capture_mutex(true);
  if (c->vm->proved) saved_total = *mp_vm_total(c->vm);
  saved_allocf = lua_getallocf(c->anchor, &saved_allocd);
  lua_setallocf(c->anchor, dump_alloc, c);
}

void mp_capture_unlock(mp_capture *c)
{
  lua_setallocf(c->anchor, saved_allocf, saved_allocd);
  /* The buffer is no part of the program's heap. */
  if (c->vm->proved) *mp_vm_total(c->vm) = saved_total;
  mp_capture_mutex(false);
}

/* -- Beginning and end --------------------------------------------------- */

bool mp_capture_init(mp_capture *c, mp_vm *vm, mp_counts *counts,
		     uint32_t slots)
{
  memset(c, 0, sizeof(*c));
  c->vm = vm;
  c->counts = counts;
  mp_stacks_init(&c->stacks);
  mp_stacks_init(&c->zones);
  c->cachemask = slots - 1;
  c->cache = calloc(slots, sizeof(*c->cache));
  c->walk = calloc(1, sizeof(*c->walk));
  c->view = calloc(1, sizeof(*c->view));
  return c->cache != NULL && c->walk != NULL && c->view != NULL &&
	 reserve_region();
}

void mp_capture_free(mp_capture *c)
{
  mp_stacks_free(&c->stacks);
  mp_stacks_free(&c->zones);
  mp_map_free(&c->frames);
  free(c->cache);
  free(c->walk);
  free(c->view);
}

void mp_capture_anchor(mp_capture *c, lua_State *anchor)
{
  c->anchor = anchor;
  c->zonetable = lua_istable(anchor, 1) ? lua_topointer(anchor, 1) : NULL;
}

/* -- Frames out of a dump ------------------------------------------------ */

/* For each frame: module:name SEP module:line END, where the first falls back
** to module:firstline, and where a C function has [builtin#n] or @address. */
#define DUMP_FORMAT	"pF\1l\2"
#define SEP		'\1'
#define END		'\2'

typedef struct text {
  const char *p, *end;
} text;

static bool all_digits(const char *p, const char *end)
{
  if (p == end) return false;
  for (; p < end; p++)
    if (*p < '0' || *p > '9') return false;
  return true;
}

/* Whether a library at that address is this one. */
static bool is_own(const void *base)
{
  Dl_info info;
  return dladdr(&mp_dump_region, &info) != 0 && info.dli_fbase == base;
}

/* A C function: its symbol if it has one, else what its caller calls it, else
** its place in the library. */
static void name_cfunction(mp_frame *f, const void *addr, char *buf, size_t n)
{
  Dl_info info;
  const char *base;
  f->kind = MP_C;
  if (dladdr(addr, &info) == 0 || info.dli_fname == NULL) return;
  if (is_own(info.dli_fbase)) f->kind = MP_OWN;
  base = strrchr(info.dli_fname, '/');
  f->source = base ? base + 1 : info.dli_fname;
  f->sourcelen = (uint32_t)strlen(f->source);
  if (info.dli_sname != NULL && info.dli_saddr == addr) {
    f->name = info.dli_sname;
    f->namelen = (uint32_t)strlen(f->name);
  } else if (f->name == NULL) {
    f->namelen = (uint32_t)snprintf(buf, n, "+0x%lx", (unsigned long)
      ((const char *)addr - (const char *)info.dli_fbase));
    f->name = buf;
  }
}

/* The second part of a frame that is no Lua function of a chunk. */
static bool parse_cpart(mp_frame *f, const char *p, const char *end,
			char *buf, size_t n)
{
  unsigned long long addr;
  if (sscanf(p, "[builtin#%u]", &f->builtin) == 1) {
    f->kind = MP_BUILTIN;
    f->name = NULL;
    f->namelen = 0;
  } else if (end - p > 10 && memcmp(p, "[builtin:", 9) == 0) {
    f->kind = MP_BUILTIN;
    f->name = p + 9;
    f->namelen = (uint32_t)(end - p - 10);
  } else if (sscanf(p, "@%llx", &addr) == 1) {
    name_cfunction(f, (void *)(uintptr_t)addr, buf, n);
  } else {
    return false;
  }
  return true;
}

/* Where the second part of a frame begins. A known chunk name is looked for,
** since names may hold any byte. */
static const char *find_second(text t, const char *src, size_t srclen)
{
  const char *p = t.p;
  while ((p = memchr(p, SEP, (size_t)(t.end - p))) != NULL) {
    p++;
    if (src == NULL) return p;
    if ((size_t)(t.end - p) > srclen && memcmp(p, src, srclen) == 0 &&
	p[srclen] == ':') {
      const char *e = memchr(p + srclen, END, (size_t)(t.end - p) - srclen);
      if (e != NULL && all_digits(p + srclen + 1, e)) return p;
    }
  }
  return NULL;
}

/* Takes one frame off the dump. src: its chunk name, where that is known. */
static bool parse_frame(text *t, const char *src, size_t srclen, mp_frame *f,
			char *buf, size_t n)
{
  const char *second = find_second(*t, src, srclen), *end, *colon, *first;
  if (second == NULL) return false;
  end = memchr(second + srclen, END, (size_t)(t->end - second) - srclen);
  if (end == NULL) return false;
  first = t->p;
  t->p = end + 1;
  f->name = first;
  f->namelen = (uint32_t)(second - 1 - first);
  if (src == NULL && (*second == '[' || *second == '@')) {
    if (*first == '[' || *first == '@') {
      f->name = NULL;
      f->namelen = 0;
    }
    if (parse_cpart(f, second, end, buf, n)) return true;
    f->name = first;
  }
  for (colon = end; colon > second && *colon != ':'; colon--) ;
  f->source = second;
  f->sourcelen = (uint32_t)(colon - second);
  f->line = (int32_t)strtol(colon + 1, NULL, 10);
  if (f->namelen > f->sourcelen && first[f->sourcelen] == ':' &&
      memcmp(first, second, f->sourcelen) == 0) {
    f->name += f->sourcelen + 1;
    f->namelen -= f->sourcelen + 1;
    if (all_digits(f->name, second - 1)) {  /* No name: its first line. */
      f->linedefined = (int32_t)strtol(f->name, NULL, 10);
      f->name = NULL;
      f->namelen = 0;
    }
  }
  return true;
}

/* Chunk name of a prototype as a dump shows it; NULL: it shows none. */
static const char *shown_source(const char *proto, size_t *len)
{
  const char *s;
  if (proto == NULL || mp_proto_firstline(proto) < 0) return NULL;
  s = mp_proto_chunkname(proto, len);
  if (*len > 0 && (*s == '@' || *s == '=')) {
    --*len;
    return s + 1;
  }
  *len = 8;
  return "[string]";
}

static void frame_init(mp_frame *f)
{
  memset(f, 0, sizeof(*f));
  f->linedefined = -1;
}

static uint32_t pseudo(mp_capture *c, const char *name)
{
  mp_frame f;
  frame_init(&f);
  f.kind = MP_PSEUDO;
  f.name = name;
  f.namelen = (uint32_t)strlen(name);
  return mp_stacks_frame(&c->stacks, &f);
}

/* The empty stack with one pseudo frame: what is known when nothing is. */
static uint32_t pseudo_stack(mp_capture *c, const char *name)
{
  uint32_t id = pseudo(c, name);
  return id == MP_NONE ? MP_NONE : mp_stacks_push(&c->stacks, 0, id);
}

/* -- Stacks by verified frames ------------------------------------------- */

static uint64_t frame_hash(const mp_vmframe *f)
{
  return mp_mix(mp_mix(mp_mix(1, f->func), f->pc), f->site);
}

/* Dumps the stack and interns each of its frames. */
static bool dump_frames(mp_capture *c, const mp_vmframe *vf, int n,
			uint32_t *ids)
{
  size_t len, names = 0;
  char buf[64];
  text t;
  int i;
  for (i = 0; i < n; i++) {
    size_t srclen = 0;
    shown_source(vf[i].proto, &srclen);
    names += 2 * srclen;
  }
  if (names > DUMP_NAMES) return false;
  t.p = mp_view_dump(c->view, DUMP_FORMAT, n, &len);
  t.end = t.p + len;
  for (i = 0; i < n; i++) {
    size_t srclen = 0;
    const char *src = shown_source(vf[i].proto, &srclen);
    mp_frame f;
    frame_init(&f);
    if (!parse_frame(&t, src, srclen, &f, buf, sizeof(buf))) return false;
    if (src != NULL) {
      f.linedefined = mp_proto_firstline(vf[i].proto);
      if (vf[i].pc == 0) f.line = 0;
    }
    ids[i] = mp_stacks_frame(&c->stacks, &f);
    if (ids[i] == MP_NONE || !mp_map_put(&c->frames, frame_hash(&vf[i]), ids[i]))
      return false;
  }
  return true;
}

/* Calls that a report does not tell apart get one id. */
static void learn_sites(mp_capture *c, const mp_vmframe *vf, int n,
			const uint32_t *ids)
{
  int i;
  for (i = 0; i + 1 < n; i++) {
    const mp_frame *callee = &c->stacks.frames[ids[i]];
    const mp_frame *caller = &c->stacks.frames[ids[i + 1]];
    uint64_t id = mp_mix(1, vf[i + 1].func);
    uint32_t k;
    if (!vf[i].called || vf[i + 1].pc == 0) continue;
    id = mp_mix(id, (uint32_t)caller->line);
    id = mp_mix(id, callee->name ? callee->namelen : UINT64_MAX);
    for (k = 0; callee->name != NULL && k < callee->namelen; k++)
      id = mp_mix(id, (uint8_t)callee->name[k]);
    mp_walk_site(c->walk, vf[i + 1].pc, id);
  }
}

/* A C function without a name that called everything: the host's. The luajit
** command has one, of which nobody wants to know in every stack. */
static bool is_host(const mp_frame *f)
{
  return f->kind == MP_C && f->name != NULL && f->name[0] == '+';
}

static uint32_t verified_stack(mp_capture *c, mp_where *w)
{
  mp_vmframe vf[MP_DEPTH];
  uint32_t ids[MP_DEPTH], stack = 0;
  bool more, known = true;
  int i, n = mp_view_frames(c->view, c->vm, w, vf, &more);
  if (n < 0) return pseudo_stack(c, "(stack not readable)");
  if (n == 0) return pseudo_stack(c, "(no Lua function)");
  for (i = 0; i < n; i++) {
    ids[i] = mp_map_get(&c->frames, frame_hash(&vf[i]));
    if (ids[i] == 0) known = false;
  }
  if (!known && !dump_frames(c, vf, n, ids))
    return pseudo_stack(c, "(stack too large)");
  learn_sites(c, vf, n, ids);
  if (more) stack = pseudo_stack(c, "(more frames)");
  else if (n > 1 && is_host(&c->stacks.frames[ids[n - 1]])) n--;
  for (i = n - 1; i >= 0 && stack != MP_NONE; i--)
    if (c->stacks.frames[ids[i]].kind != MP_OWN)
      stack = mp_stacks_push(&c->stacks, stack, ids[i]);
  return stack != 0 ? stack : pseudo_stack(c, "(luajit-mp)");
}

/* -- Stacks by a dump alone ---------------------------------------------- */

static uint32_t dumped_stack(mp_capture *c, lua_State *L)
{
  uint32_t ids[MP_DEPTH], stack = 0;
  size_t len;
  char buf[64];
  text t;
  int n = 0;
  t.p = luaJIT_profile_dumpstack(L, DUMP_FORMAT, MP_DEPTH, &len);
  t.end = t.p + len;
  while (n < MP_DEPTH && t.p < t.end) {
    mp_frame f;
    frame_init(&f);
    if (!parse_frame(&t, NULL, 0, &f, buf, sizeof(buf))) break;
    if ((ids[n] = mp_stacks_frame(&c->stacks, &f)) == MP_NONE) return MP_NONE;
    n++;
  }
  if (n == 0) return pseudo_stack(c, "(no Lua function)");
  if (n > 1 && is_host(&c->stacks.frames[ids[n - 1]])) n--;
  while (n-- > 0 && stack != MP_NONE)
    stack = mp_stacks_push(&c->stacks, stack, ids[n]);
  return stack;
}

/* -- Zones --------------------------------------------------------------- */

/* jit.zone keeps its stack in the array part of its own module table. It is
** read through a coroutine of ours, which neither allocates nor raises. */
static __attribute__((noinline)) uint32_t zone_read(mp_capture *c)
{
  lua_State *Z = c->anchor;
  uint32_t zone = 0;
  int i, n;
  if (lua_type(Z, 1) != LUA_TTABLE || (n = (int)lua_objlen(Z, 1)) == 0)
    return 0;
  if (n > MP_DEPTH) n = MP_DEPTH;
  for (i = 1; i <= n && zone != MP_NONE; i++) {
    char buf[32];
    uint32_t id;
    mp_frame f;
    frame_init(&f);
    f.kind = MP_ZONE;
    f.name = buf;
    lua_rawgeti(Z, 1, i);
    if (lua_type(Z, -1) == LUA_TSTRING) {
      size_t len;
      f.name = lua_tolstring(Z, -1, &len);
      f.namelen = (uint32_t)len;
    } else if (lua_type(Z, -1) == LUA_TNUMBER) {
      f.namelen = (uint32_t)snprintf(buf, sizeof(buf), "%.14g",
				     lua_tonumber(Z, -1));
    } else {
      f.name = lua_typename(Z, lua_type(Z, -1));
      f.namelen = (uint32_t)strlen(f.name);
    }
    id = mp_stacks_frame(&c->zones, &f);
    zone = id == MP_NONE ? MP_NONE : mp_stacks_push(&c->zones, zone, id);
    lua_settop(Z, 1);
  }
  return zone;
}

static inline uint32_t zone_now(mp_capture *c)
{
  if (c->vm->proved && c->zonetable != NULL && mp_vm_noarray(c->zonetable))
    return 0;
  return zone_read(c);
}

/* -- Rows ---------------------------------------------------------------- */

static uint32_t row_of(mp_capture *c, uint32_t stack, uint32_t zone, int state,
		       uint8_t type)
{
  if (stack == MP_NONE || zone == MP_NONE) return 0;
  return mp_counts_row(c->counts, stack, zone, (uint8_t)state, type);
}

static uint32_t pseudo_row(mp_capture *c, const char *name, int state,
			   uint8_t type)
{
  return row_of(c, pseudo_stack(c, name), zone_now(c), state, type);
}

/* Puts a pseudo frame on top of a stack, if there is one to put. */
static uint32_t on_top(mp_capture *c, uint32_t stack, const char *name)
{
  uint32_t id;
  if (name == NULL || stack == MP_NONE) return stack;
  id = pseudo(c, name);
  return id == MP_NONE ? MP_NONE : mp_stacks_push(&c->stacks, stack, id);
}

/* Row of a stack that is not in the cache. */
static __attribute__((noinline)) uint32_t new_row(mp_capture *c, mp_where *w,
						  uint32_t zone, int state,
						  uint8_t type,
						  const char *top)
{
  uint32_t stack;
  mp_capture_lock(c);
  stack = on_top(c, verified_stack(c, w), top);
  mp_capture_unlock(c);
  return row_of(c, stack, zone, state, type);
}

static inline uint32_t capture(mp_capture *c, mp_where *w, int state,
			       uint8_t type, const char *top)
{
  uint32_t zone = zone_now(c);
  uint64_t key = mp_mix(w->key + c->generation, (uint64_t)zone << 24 |
			(uint64_t)(top != NULL) << 16 | (uint64_t)type << 8 |
			(uint8_t)state);
  mp_cached *hit = &c->cache[key & c->cachemask];
  if (hit->key != key || hit->row == 0) {
    hit->row = new_row(c, w, zone, state, type, top);
    hit->key = key;
  }
  return hit->row;
}

uint32_t mp_capture_row(mp_capture *c, lua_State *L, int state)
{
  mp_where w;
  uint32_t row;
  if (c->vm->proved)
    return mp_where_safepoint(c->vm, c->walk, L, &w) ? capture(c, &w, state, 0, NULL) :
	   pseudo_row(c, "(no Lua function)", state, 0);
  mp_capture_lock(c);
  row = row_of(c, dumped_stack(c, L), zone_now(c), state, 0);
  mp_capture_unlock(c);
  return row;
}

uint32_t mp_capture_running(mp_capture *c, uint8_t type)
{
  const char *top = NULL;
  mp_where w;
  int state;
  if (!mp_where_running(c->vm, c->walk, &w, &state))
    return pseudo_row(c, w.L ? "(no Lua function)" : "(thread not known)",
		      state, type);
  if (w.compiling) {
    top = "(JIT compiler)";  /* What it allocates is no line's. */
    state = 'J';
    if (type == MP_TYPE_UNKNOWN || type == MP_OTHER) type = MP_RECORDER;
  } else if (state == 'J') {
    state = 'I';  /* The interpreter, while a trace is recorded. */
  }
  return capture(c, &w, state, type, top);
}

uint32_t mp_capture_freeing(mp_capture *c)
{
  if (!c->vm->proved) return 0;
  if (!mp_vm_collecting(c->vm)) return mp_capture_running(c, 0);
  if (c->gcrow == 0)
    c->gcrow = row_of(c, pseudo_stack(c, "(garbage collector)"), 0, 'G', 0);
  return c->gcrow;
}

void mp_capture_forget(mp_capture *c)
{
  c->generation++;
  mp_vm_forget(c->vm);
  mp_walk_forget(c->walk);
  mp_map_clear(&c->frames);
}
