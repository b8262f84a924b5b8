/* SPDX-License-Identifier: MIT */
/*
** See sample/capture.h.
*/
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/lock.h"
#include "data/mem.h"
#include "luajit.h"
#include "sample/capture.h"
#include "sample/name.h"
#include "vm/interrupt.h"
#include "vm/jitstate.h"
#include "vm/layout.h"
#include "vm/low.h"
#include "vm/peek.h"
#include "vm/type.h"
#include "vm/variant.h"
#include "vm/vm.h"

/* -- Zones ---------------------------------------------------------------- */

/*
** The zones that the program has entered (jit.zone), as a stack of names.
**
** On the thread that runs the VM, inside the allocator too: the VM's stack is
** not touched, no memory of the VM is taken, no error is raised.
*/

#define ZONES_MAX	100	/* Zones in one another, at most. */

/* The name of the zone on top of the anchor's stack. */
static void zone_name(lua_State *Z, mp_frame *f, char buf[MP_NAME_MAX])
{
  *f = mp_name_none();
  f->kind = MP_ZONE;
  if (lua_type(Z, -1) == LUA_TSTRING) {
    size_t len;
    const char *s = lua_tolstring(Z, -1, &len);
    mp_name_set(f, s, len, buf);
  } else if (lua_type(Z, -1) == LUA_TNUMBER) {
    f->name = buf;
    f->namelen = (uint32_t)snprintf(buf, MP_NAME_MAX, "%.14g",
				    lua_tonumber(Z, -1));
  } else {
    const char *s = lua_typename(Z, lua_type(Z, -1));
    mp_name_set(f, s, strlen(s), buf);
  }
}

/* jit.zone keeps its stack in the array part of its own module table. */
uint32_t mp_zone_read(mp_stacks *zones, uint32_t labels, lua_State *Z)
{
  uint32_t zone = labels;
  int i, n;
  if (Z == NULL || lua_type(Z, 1) != LUA_TTABLE) return labels;
  if ((n = (int)lua_objlen(Z, 1)) == 0) return labels;
  if (n > ZONES_MAX) n = ZONES_MAX;
  for (i = 1; i <= n && zone != MP_NONE; i++) {
    char buf[MP_NAME_MAX];
    uint32_t id;
    mp_frame f;
    lua_rawgeti(Z, 1, i);
    zone_name(Z, &f, buf);
    id = mp_stacks_frame(zones, &f);
    zone = id == MP_NONE ? MP_NONE : mp_stacks_push(zones, zone, id);
    lua_settop(Z, 1);
  }
  return zone;
}

/* -- While the table may be changing ------------------------------------- */

#ifdef MP_LAYOUT

/* Copies a string, which may be none, as far as names are kept. */
static bool peek_string(slot v, mp_frame *f, char text[MP_NAME_MAX],
			char buf[MP_NAME_MAX])
{
  slot head[(STR_DATA + sizeof(slot) - 1) / sizeof(slot)];
  uint32_t len, kept;
  if (!mp_peek(head, PTR(v), mp_variant_data()) ||
      AT(uint8_t, head, OBJ_GCT) != GCT_STR)
    return false;
  len = AT(uint32_t, head, mp_variant_len());
  kept = len < MP_NAME_MAX ? len : MP_NAME_MAX;
  if (kept > 0 && !mp_peek(text, PTR(v) + mp_variant_data(), kept))
    return false;
  mp_name_set(f, text, len, buf);
  return true;
}

/* The same, where the VM's thread may have been interrupted while it changes
** that table, of which the layout is known. MP_NONE: they are not known.
** Async-signal-safe. */
static uint32_t zone_peek(mp_stacks *zones, uint32_t labels, const void *table)
{
  slot now[ZONES_MAX];
  size_t i, n, size;
  const slot *array = mp_vm_array(table, &size);
  uint32_t zone = labels;
  n = size / sizeof(slot) - (size > 0);  /* Lua counts from 1. */
  if (n > ZONES_MAX) n = ZONES_MAX;
  if (n > 0 && !mp_peek(now, array + 1, n * sizeof(slot))) return MP_NONE;
  for (i = 0; i < n && !IS_NIL(now[i]) && zone != MP_NONE; i++) {
    char text[MP_NAME_MAX], buf[MP_NAME_MAX];
    mp_frame f = mp_name_none();
    uint32_t id;
    f.kind = MP_ZONE;
    if (TAG(now[i]) != TAGSTR || !peek_string(now[i], &f, text, buf))
      return MP_NONE;
    id = mp_stacks_frame(zones, &f);
    zone = id == MP_NONE ? MP_NONE : mp_stacks_push(zones, zone, id);
  }
  return zone;
}

#else

static uint32_t zone_peek(mp_stacks *zones, uint32_t labels, const void *table)
{
  (void)zones; (void)labels; (void)table;
  return MP_NONE;
}

#endif

/* -- Dumps ---------------------------------------------------------------- */

/*
** A stack by LuaJIT's API, where the VM's layout is not known: by lua_getinfo,
** and for C functions by LuaJIT's own dump of it.
**
** luaJIT_profile_dumpstack takes memory of the VM, may raise an error, and has
** one buffer for the process, which belongs to the VM that has the profiler and
** is freed with that VM: no other VM may call anything here. The dump is used
** where the VM expects all that, at safepoints and in hooks, never inside the
** allocator.
*/

#define MP_DUMP_DEPTH	100	/* Frames of a stack, from the top. */

#define DUMP_FORMAT	"l\2"	/* A C function has [builtin#n] or @address. */
#define END		'\2'

/* By the dump, because lua_getinfo does not tell builtins apart. The level has
** a function that is none of a chunk's. */
static void name_other(mp_frame *f, lua_State *L, int level,
		       char buf[MP_NAME_MAX])
{
  unsigned long long addr;
  size_t len;
  const char *p = luaJIT_profile_dumpstack(L, DUMP_FORMAT, ~level, &len);
  const char *end = memchr(p, END, len);
  if (end == NULL) return;
  if (sscanf(p, "[builtin#%u]", &f->builtin) == 1) {
    f->kind = MP_BUILTIN;
    f->name = NULL;
    f->namelen = 0;
  } else if (end - p > 10 && memcmp(p, "[builtin:", 9) == 0) {
    f->kind = MP_BUILTIN;
    mp_name_set(f, p + 9, (size_t)(end - p - 10), buf);
  } else if (sscanf(p, "@%llx", &addr) == 1) {
    mp_name_cfunction(f, (void *)(uintptr_t)addr, buf);
  }
}

/* See has_name in sample/name.c. A metamethod that runs cannot be distinguished
** from a function that has only its name. */
static bool has_name(const lua_Debug *ar)
{
  return ar->name != NULL && *ar->name != '\0' &&
	 (*ar->namewhat != 'm' || strcmp(ar->name, "__gc") == 0);
}

static void name_frame(mp_frame *f, lua_State *L, int level, lua_Debug *ar,
		       char buf[MP_NAME_MAX + MP_CHUNK_MAX])
{
  *f = mp_name_none();
  lua_getinfo(L, "nSl", ar);
  if (has_name(ar)) mp_name_set(f, ar->name, strlen(ar->name), buf);
  if (*ar->what == 'C' || ar->linedefined < 0) {
    name_other(f, L, level, buf);
    return;
  }
  /* A function from bytecode without debug information is not a main chunk. */
  if (ar->linedefined != 0 || *ar->what == 'm') {
    f->linedefined = ar->linedefined;
    f->line = ar->currentline >= 0 ? ar->currentline : ar->linedefined;
  }
  mp_name_chunk(f, ar->source, strlen(ar->source), buf + MP_NAME_MAX);
}

/* Interns the frames of the stack of L, which is at a safepoint, into
** ids[MP_DUMP_DEPTH], top first. Returns their number, or -1: no memory. */
static int dump_frames(mp_stacks *s, lua_State *L, uint32_t *ids)
{
  lua_Debug ar;
  int n;
  for (n = 0; n < MP_DUMP_DEPTH && lua_getstack(L, n, &ar); n++) {
    char buf[MP_NAME_MAX + MP_CHUNK_MAX];
    mp_frame f;
    name_frame(&f, L, n, &ar, buf);
    if ((ids[n] = mp_stacks_frame(s, &f)) == MP_NONE) return -1;
  }
  return n;
}

/* Characters that mean nothing are copied into the buffer. */
int mp_dump_prepare(lua_State *L)
{
  char format[512];
  size_t len;
  memset(format, '.', sizeof(format) - 1);
  format[sizeof(format) - 1] = '\0';
  luaJIT_profile_dumpstack(L, format, 8, &len);
  return 0;
}

/* -- Stacks --------------------------------------------------------------- */

/* -- Beginning and end --------------------------------------------------- */

bool mp_capture_init(mp_capture *c, mp_vm *vm, mp_counts *counts,
		     uint32_t slots)
{
  size_t size;
  memset(c, 0, sizeof(*c));
  c->vm = vm;
  c->counts = counts;
  mp_stacks_init(&c->stacks);
  mp_stacks_init(&c->zones);
  mp_labels_init(&c->labels);
  c->cachemask = slots - 1;
  size = slots * sizeof(*c->cache);
  c->cache = mp_aligned_alloc(MP_CACHE_LINE * sizeof(*c->cache), size);
  if (c->cache != NULL) memset(c->cache, 0, size);
  c->walk = mp_calloc(1, sizeof(*c->walk));
  c->view = mp_low_alloc(sizeof(*c->view));
  return c->cache != NULL && c->walk != NULL && c->view != NULL;
}

void mp_capture_free(mp_capture *c)
{
  mp_stacks_free(&c->stacks);
  mp_stacks_free(&c->zones);
  mp_labels_free(&c->labels);
  mp_map_free(&c->frames);
  mp_codes_free(&c->codes);
  mp_free(c->cache);
  if (c->walk != NULL) mp_walk_free(c->walk);
  mp_free(c->walk);
  if (c->view != NULL) mp_view_free(c->view);
  mp_low_free(c->view, sizeof(*c->view));
}

void mp_capture_anchor(mp_capture *c, lua_State *anchor)
{
  c->anchor = anchor;
  c->zonetable = lua_istable(anchor, 1) ? lua_topointer(anchor, 1) : NULL;
}

/* -- Stacks -------------------------------------------------------------- */

#define MORE_FRAMES	"(more frames)"
#define COLLECTOR	"(garbage collector)"
#define HOST	"(host program)"

static uint32_t pseudo_in(mp_stacks *s, const char *name)
{
  mp_frame f = mp_name_none();
  f.kind = MP_PSEUDO;
  f.name = name;
  f.namelen = (uint32_t)strlen(name);
  return mp_stacks_frame(s, &f);
}

static uint32_t pseudo(mp_capture *c, const char *name)
{
  return pseudo_in(&c->stacks, name);
}

/* Puts a frame on top of a stack. MP_NONE: one of them is MP_NONE, or there is
** no memory. */
static uint32_t push(mp_capture *c, uint32_t stack, uint32_t frame)
{
  return stack == MP_NONE || frame == MP_NONE ? MP_NONE :
	 mp_stacks_push(&c->stacks, stack, frame);
}

/* A stack of one pseudo frame, for a sample whose stack is not known. */
static uint32_t pseudo_stack(mp_capture *c, const char *name)
{
  return push(c, 0, pseudo(c, name));
}

/* -- The limit ----------------------------------------------------------- */

#define OTHER	"(other)"
#define MARGIN	256		/* New frames, nodes and rows of one sample. */

/* Bytes that a report takes for a row, and for each frame of its stack, as far
** as these count: a .folded has the names of all. */
#define ROW_IN_REPORT	3072
#define FRAME_IN_REPORT	16
#define FRAMES_MAX_IN_REPORT 4096

void mp_capture_limit(mp_capture *c, size_t bytes, size_t report)
{
  c->limit = bytes;
  c->reportlimit = report;
}

static void count_in_report(mp_capture *c, uint32_t stack)
{
  uint32_t depth = 0;
  for (; stack != 0 && depth < FRAMES_MAX_IN_REPORT; depth++)
    stack = c->stacks.nodes[stack].parent;
  c->reported += ROW_IN_REPORT + FRAME_IN_REPORT * depth;
}

/* Whether that share of the limit is used up. */
static bool uses(const mp_capture *c, double share)
{
  size_t n = mp_stacks_after(&c->stacks, MARGIN) +
	     mp_stacks_after(&c->zones, MARGIN) +
	     mp_counts_after(c->counts, MARGIN) +
	     mp_map_after(&c->frames, MARGIN);
  return (double)n > (double)c->limit * share ||
	 (double)c->reported > (double)c->reportlimit * share;
}

/* Whether there is no room for new stacks, labels and zones. A quarter is left
** for rows of the existing ones, in another state or of another type. */
static bool is_full(mp_capture *c)
{
  if (!c->full && c->limit != 0 && !mp_mem_denied() && uses(c, 0.75)) {
    c->other = pseudo_stack(c, OTHER);
    c->otherzone = mp_stacks_push(&c->zones, 0, pseudo_in(&c->zones, OTHER));
    c->full = c->stacks.closed = c->zones.closed = true;
  }
  return c->full;
}

/* A stack in place of one that there is no room for: the function on top keeps
** its numbers. */
static uint32_t other_stack(mp_capture *c)
{
  bool closed = c->stacks.closed;
  uint32_t stack;
  if (c->leaf == 0) return c->other;
  c->stacks.closed = false;
  stack = push(c, c->other, c->leaf);
  c->stacks.closed = closed;
  return stack != MP_NONE ? stack : c->other;
}

/* The row in place of one that there is no room for. */
static uint32_t other_row(mp_capture *c, uint32_t zone, int state,
			  uint8_t type)
{
  bool closed = c->counts->closed;
  uint32_t row = 0, stack = other_stack(c);
  c->counts->closed = false;
  if (zone == MP_NONE || (zone != 0 && !mp_labels_is(&c->zones, zone)))
    zone = c->otherzone;
  if (stack != MP_NONE && zone != MP_NONE)
    row = mp_counts_row(c->counts, stack, zone, (uint8_t)state, type);
  c->counts->closed = closed;
  return row;
}

/* -- Frames -------------------------------------------------------------- */

static uint64_t frame_hash(const mp_walk *k, const mp_vmframe *f)
{
  uint64_t h = mp_mix(1, mp_walk_word(k, f->func));
  h = mp_mix(h, mp_walk_word(k, f->pc));
  return mp_mix(h, mp_walk_word(k, f->site));
}

/* Sets the identities of code and chunk: a chunk from a text has the text's. */
static void identify(mp_capture *c, const char *proto, mp_frame *f)
{
  mp_code code = mp_codes_get(&c->codes, c->vm, proto);
  f->code = code.code;
  if (f->chunk == 0) f->chunk = code.chunk;
}

/* The frame of a report for a verified frame. MP_NONE: no memory. In a signal
** handler the dynamic linker cannot be asked for names. */
static uint32_t frame_id(mp_capture *c, const mp_vmframe *vf)
{
  uint64_t h = frame_hash(c->walk, vf);
  uint32_t id = mp_map_get(&c->frames, h);
  char buf[MP_NAME_MAX + MP_CHUNK_MAX];
  mp_frame f;
  if (id != 0) return id;
  if (mp_mem_denied() && vf->proto == NULL && vf->builtin == 0) return MP_NONE;
  mp_name_frame(c->view, vf, &f, buf);
  if (!c->lines) f.line = 0;
  if (f.kind == MP_LUA) {
    identify(c, vf->proto, &f);
    if (f.code == 0 && mp_mem_denied()) return MP_NONE;
  }
  id = mp_stacks_frame(&c->stacks, &f);
  if (id != MP_NONE && !mp_map_put(&c->frames, h, id)) return MP_NONE;
  return id;
}

/* Calls that a report does not tell apart get one id. */
static void learn_site(mp_capture *c, const mp_vmframe *callee,
		       const mp_vmframe *caller)
{
  const mp_frame *f = &c->stacks.frames[callee->id];
  uint64_t id = mp_mix(1, mp_walk_word(c->walk, caller->func));
  uint32_t k;
  if (!callee->called || caller->pc == 0) return;
  id = mp_mix(id, (uint32_t)c->stacks.frames[caller->id].line);
  id = mp_mix(id, f->name ? f->namelen : UINT64_MAX);
  for (k = 0; f->name != NULL && k < f->namelen; k++)
    id = mp_mix(id, (uint8_t)f->name[k]);
  mp_walk_site(c->walk, caller->pc, id);
}

/* Whether a frame belongs to the host: a C function without a name at the
** bottom of the stack. The luajit command has one, which would only add noise
** to every stack. */
static bool is_host(const mp_frame *f)
{
  return f->kind == MP_C && f->name == NULL;
}

/* Notes the frame on top of a stack that there may be no room for. */
static void note_leaf(mp_capture *c, const mp_vmframe *vf)
{
  uint32_t id;
  if (!c->full) return;
  id = frame_id(c, vf);
  if (id != MP_NONE && c->stacks.frames[id].kind != MP_OWN) c->leaf = id;
}

/* The stack of n verified frames above the stack `below`. The level of each
** frame in the walk, if it has one, gets the stack below it, or MP_NONE if that
** stack had no room, so that these frames are not examined again. */
static uint32_t push_frames(mp_capture *c, int n, uint32_t below)
{
  uint32_t stack = below, host = 0;
  int i;
  for (i = n - 1; i >= 0 && (stack != MP_NONE || c->stacks.closed); i--) {
    mp_vmframe *vf = &c->view->frames[i];
    mp_kind kind;
    if (vf->level >= 0) c->walk->levels[vf->level].stack = stack;
    if (stack == MP_NONE) continue;
    vf->id = frame_id(c, vf);
    if (vf->id == MP_NONE) {
      stack = MP_NONE;
      continue;
    }
    if (i + 1 < n) learn_site(c, vf, vf + 1);
    kind = c->stacks.frames[vf->id].kind;
    if (kind == MP_OWN) continue;
    if (below == 0 && i == n - 1 && is_host(&c->stacks.frames[vf->id]))
      host = vf->id;
    else
      stack = push(c, stack, vf->id);
  }
  if (stack != 0) return stack;
  return host != 0 ? push(c, 0, host) : pseudo_stack(c, "(luajit-mp)");
}

static uint32_t verified_stack(mp_capture *c, mp_where *w)
{
  uint32_t below;
  bool cut;
  int n = mp_view_frames(c->view, c->vm, c->walk, w, &below, &cut);
  if (n < 0) return pseudo_stack(c, "(stack not readable)");
  if (n == 0) return pseudo_stack(c, "(no Lua function)");
  if (cut && mp_mem_denied()) return MP_NONE;
  if (cut || w->cut) below = pseudo_stack(c, MORE_FRAMES);
  note_leaf(c, &c->view->frames[0]);
  return push_frames(c, n, below);
}

/* The stack of a thread at a safepoint, where the layout is not known. */
static uint32_t dumped_stack(mp_capture *c, lua_State *L)
{
  uint32_t ids[MP_DUMP_DEPTH], stack = 0;
  int n;
  is_full(c);  /* Looks whether there is room for this one. */
  n = dump_frames(&c->stacks, L, ids);
  if (n < 0) return MP_NONE;
  if (n == 0) return pseudo_stack(c, "(no Lua function)");
  if (n == MP_DUMP_DEPTH) {
    stack = pseudo_stack(c, MORE_FRAMES);
    c->cut++;
  } else if (n > 1 && is_host(&c->stacks.frames[ids[n - 1]])) {
    n--;
  }
  while (n-- > 0) stack = push(c, stack, ids[n]);
  return stack;
}

/* -- Rows ---------------------------------------------------------------- */

static uint32_t traced_row(mp_capture *c, uint32_t stack, uint32_t zone,
			   int state, uint8_t type, uint16_t trace)
{
  uint32_t row = 0, before = c->counts->nrows;
  if (c->full && !c->counts->closed) c->counts->closed = uses(c, 1);
  if (stack != MP_NONE && zone != MP_NONE)
    row = mp_counts_traced(c->counts, stack, zone, (uint8_t)state, type, trace);
  if (c->counts->nrows > before) count_in_report(c, stack);
  if (row == 0 && is_full(c)) return other_row(c, zone, state, type);
  return row;
}

static uint32_t row_of(mp_capture *c, uint32_t stack, uint32_t zone, int state,
		       uint8_t type)
{
  return traced_row(c, stack, zone, state, type, 0);
}

/* The number of the trace that a row is to have. */
static uint16_t trace_of(const mp_capture *c, const mp_where *w)
{
#ifdef MP_LAYOUT
  if (c->traces && w->trace != NULL) return AT(uint16_t, w->trace, TR_NUMBER);
#else
  (void)c; (void)w;
#endif
  return 0;
}

/* L: the coroutine that runs, or NULL. */
static uint32_t pseudo_row(mp_capture *c, const char *name, const lua_State *L,
			   int state, uint8_t type)
{
  return row_of(c, pseudo_stack(c, name), mp_capture_zone(c, L), state, type);
}

/* Row of a stack that is not in the cache. */
static __attribute__((noinline)) uint32_t new_row(mp_capture *c, mp_where *w,
						  uint32_t zone, int state,
						  uint8_t type,
						  const char *top)
{
  uint32_t stack, row;
  is_full(c);  /* Looks whether there is room for this one. */
  stack = verified_stack(c, w);
  if (top != NULL) stack = push(c, stack, pseudo(c, top));
  row = traced_row(c, stack, zone, state, type, trace_of(c, w));
  c->leaf = 0;
  return row;
}

/* Where the key is in the cache, or is to be. */
static inline mp_cached *cache_place(mp_capture *c, uint64_t key)
{
  uint32_t home = (uint32_t)key & c->cachemask, i;
  for (i = 0; i < MP_CACHE_LINE; i++) {
    mp_cached *place = &c->cache[home ^ i];
    if (*place == 0 || mp_cached_row(*place, key) != 0) return place;
  }
  return &c->cache[home ^ (c->victim & (MP_CACHE_LINE - 1))];
}

static uint32_t capture_in(mp_capture *c, mp_where *w, uint32_t zone, int state,
			   uint8_t type, const char *top)
{
  uint64_t key = mp_capture_key(w->key, zone, state, type, top != NULL);
  mp_cached *place = cache_place(c, key);
  uint32_t row = mp_cached_row(*place, key);
  c->cut += c->walk->cut;
  if (row != 0) return row;
  row = new_row(c, w, zone, state, type, top);
  if (row == 0) return 0;
  *place = (key & ~(uint64_t)MP_COUNTS_MAX) | row;
  c->victim++;
  return row;
}

static uint32_t capture(mp_capture *c, mp_where *w, int state, uint8_t type,
			const char *top)
{
  return capture_in(c, w, mp_capture_zone(c, w->L), state, type, top);
}

static uint32_t safepoint_row(mp_capture *c, lua_State *L, int state)
{
  mp_where w;
  if (!c->vm->proved)
    return row_of(c, dumped_stack(c, L), mp_capture_zone(c, L), state, 0);
  return mp_where_safepoint(c->vm, c->walk, L, state == 'N', &w) ?
	 capture(c, &w, state, 0, NULL) :
	 pseudo_row(c, "(no Lua function)", L, state, 0);
}

uint32_t mp_capture_row(mp_capture *c, lua_State *L, int state)
{
  uint32_t row;
  mp_capture_enter(c);
  mp_walk_collected(c->walk);  /* There may have been two since the last one. */
  row = safepoint_row(c, L, state);
  mp_capture_leave(c);
  return row;
}

uint32_t mp_capture_called(mp_capture *c, lua_State *L, const mp_callee *called,
			   int state)
{
  uint32_t row = 0;
  mp_where w;
  if (!c->vm->proved) return 0;
  if (called->n == 0) return mp_capture_named(c, HOST, state);
  mp_capture_enter(c);
  mp_walk_collected(c->walk);
  if (mp_where_safepoint(c->vm, c->walk, L, false, &w) &&
      mp_callee_find(called, &w))
    row = capture(c, &w, state, 0, NULL);
  mp_capture_leave(c);
  return row;
}

uint32_t mp_capture_call(mp_capture *c, lua_State *L)
{
  uint32_t row;
  mp_capture_enter(c);
  row = safepoint_row(c, L, 'I');
  mp_capture_leave(c);
  return row;
}

uint32_t mp_capture_place(mp_capture *c, mp_where *w, uint32_t labels,
			  int state)
{
  uint32_t row;
  mp_capture_enter(c);
  mp_walk_collected(c->walk);  /* It has no frame of that stack. */
  row = new_row(c, w, labels, state, 0, NULL);
  mp_capture_leave(c);
  return row;
}

uint32_t mp_capture_above(mp_capture *c, uint32_t row, const char *name)
{
  const mp_row r = c->counts->rows[row];
  uint32_t above;
  mp_capture_enter(c);
  above = row_of(c, push(c, r.stack, pseudo(c, name)), r.zone, r.state, r.type);
  mp_capture_leave(c);
  return above;
}

uint32_t mp_capture_named(mp_capture *c, const char *name, int state)
{
  uint32_t row;
  mp_capture_enter(c);
  row = pseudo_row(c, name, NULL, state, 0);
  mp_capture_leave(c);
  return row;
}

/* The name of what runs if it is not a Lua function. The arrays that the
** collector shrinks count for it, not for the line where it stepped in. */
static const char *nowhere(const mp_capture *c, const mp_where *w, int state)
{
  return state == 'G' ? COLLECTOR : w->L ? "(no Lua function)" :
	 mp_vm_hosted(c->vm) ? HOST : "(thread not known)";
}

uint32_t mp_capture_anew(mp_capture *c, uint8_t type)
{
  const char *top = NULL;
  mp_where w;
  int state;
  if (!mp_where_running(c->vm, c->walk, &w, &state)) {
    const char *name = nowhere(c, &w, state);
    if (w.L != NULL) return pseudo_row(c, name, w.L, state, type);
    /* The state may be being closed: its zones may have been freed. */
    return row_of(c, pseudo_stack(c, name), 0, state, type);
  }
  if (w.compiling) {
    top = "(JIT compiler)";  /* No line asks for its allocations. */
    state = 'J';
    type = mp_capture_type(c, mp_type_compiling(type));
  } else if (state == 'J') {
    state = 'I';  /* The interpreter, while a trace is recorded. */
  }
  return capture(c, &w, state, type, top);
}

uint32_t mp_capture_known(mp_capture *c, uint64_t key, uint8_t type)
{
  uint32_t row = mp_cached_row(*cache_place(c, key), key);
  if (row == 0) return mp_capture_anew(c, type);
  c->cut += c->walk->cut;
  return row;
}

uint32_t mp_capture_running(mp_capture *c, uint8_t type)
{
  return mp_capture_quick(c, type);
}

uint32_t mp_capture_newpart(mp_capture *c, uint32_t row, uint8_t type)
{
  const mp_row *r = &c->counts->rows[row];
  uint32_t part;
  mp_capture_enter(c);
  part = traced_row(c, r->stack, r->zone, r->state, type, r->trace);
  c->counts->rows[row].part = part;
  mp_capture_leave(c);
  return part;
}

uint32_t mp_capture_freeing(mp_capture *c)
{
  if (!c->vm->proved) return 0;
  if (!mp_vm_collecting(c->vm)) return mp_capture_running(c, 0);
  if (c->gcrow == 0) {
    mp_capture_enter(c);
    c->gcrow = row_of(c, pseudo_stack(c, COLLECTOR), 0, 'G', 0);
    mp_capture_leave(c);
  }
  return c->gcrow;
}

/* Labels and zones where a tick has interrupted compiled code; MP_NONE: they
** are not known. A C function that the code has called may be changing their
** table, and so may the code itself. */
static uint32_t zone_interrupted(mp_capture *c, const lua_State *L,
				 const void *context, bool calm)
{
  uint32_t labels = mp_capture_labels(c, L);
  const void *array;
  size_t size;
  if (c->zonetable == NULL) return labels;
  if (!calm) return zone_peek(&c->zones, labels, c->zonetable);
  array = mp_vm_array(c->zonetable, &size);
  return mp_interrupt_splits(context, array, size) ? MP_NONE :
	 mp_capture_zone(c, L);
}

uint32_t mp_capture_interrupted(mp_capture *c, const void *context, bool *calm)
{
  uint32_t row = 0;
  mp_where w;
  int state;
  *calm = false;
  if (c->inside > 0) c->missed = true;
  if (!c->vm->proved || c->inside > 0 ||
      !mp_interrupt_where(c->vm, context, &w, &state, calm))
    return 0;
  if (!*calm) mp_mem_deny();
  if (mp_where_key(c->vm, c->walk, &w) || *calm) {
    uint32_t zone = zone_interrupted(c, w.L, context, *calm);
    if (zone != MP_NONE) row = capture_in(c, &w, zone, state, 0, NULL);
  }
  if (!*calm) mp_mem_allow();
  return row;
}

bool mp_capture_label(mp_capture *c, const lua_State *L, uint32_t set)
{
  if (c->coroutines != NULL) return mp_coroutines_set(c->coroutines, L, set);
  return !c->vm->proved && mp_labels_set(&c->labels, L, set);
}

/* So many frames are kept, those of code that was freed among them. */
#define FRAMES_MAX	8192

void mp_capture_forget(mp_capture *c, const void *block, size_t size)
{
  if (c->freeing != NULL) c->freeing(c->freeingdata, block);
  mp_capture_enter(c);
  mp_codes_freed(&c->codes, block);
  if (c->coroutines != NULL) mp_coroutines_forget(c->coroutines, block);
  if (c->penalties != NULL)
    mp_jitstate_freed(c->vm, c->penalties, block, size);
  mp_vm_forget(c->vm);
  mp_walk_freed(c->walk, block, size);
  if (c->frames.count > FRAMES_MAX) mp_map_clear(&c->frames);
  mp_capture_leave(c);
}
