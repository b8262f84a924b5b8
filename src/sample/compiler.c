/* SPDX-License-Identifier: MIT */
/*
** See sample/compiler.h.
*/
#include "config.h"

#include <string.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/mem.h"
#include "sample/compiler.h"
#include "sample/name.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/trace.h"

#include "lauxlib.h"

#define GIVEUPS_MAX	8192u	/* Entries of the lists, at most. */
#define MADE_MAX	8192u
#define FLUSHES_MAX	4096u
#define NUMBERS		65536u	/* Numbers of traces are less than that. */
#define LOOK_AGAIN	0.1	/* Seconds until the traces are read again. */

/* Of the registry: the VM's mp_compiler, and the event's handler. */
static char compiler_key, handler_key;

/* -- Places -------------------------------------------------------------- */

/* The frame's number; 0: no memory. */
static uint32_t frame_id(mp_capture *c, const mp_frame *f)
{
  uint32_t id = mp_stacks_frame(&c->stacks, f);
  return id != MP_NONE ? id : 0;
}

/* The frame of an instruction; 0: no memory. */
static uint32_t proto_place(mp_capture *c, const char *proto, uint32_t pos)
{
  char buf[MP_CHUNK_MAX];
  mp_frame f = mp_name_none();
  mp_code code = mp_codes_get(&c->codes, c->vm, proto);
  size_t len;
  const char *s = mp_proto_chunkname(proto, &len);
  f.kind = MP_LUA;
  mp_name_chunk(&f, s, len, buf);
  if (!mp_proto_stripped(proto)) {
    f.linedefined = mp_proto_firstline(proto);
    f.line = mp_jitstate_line(proto, pos);
  }
  f.code = code.code;
  if (f.chunk == 0) f.chunk = code.chunk;
  return frame_id(c, &f);
}

/* The same by the API alone, for a function on the stack: without a line. */
static uint32_t function_place(mp_capture *c, lua_State *L, int i)
{
  char buf[MP_CHUNK_MAX];
  mp_frame f = mp_name_none();
  lua_Debug ar;
  lua_pushvalue(L, i);
  if (!lua_getinfo(L, ">S", &ar)) return 0;
  f.kind = MP_LUA;
  mp_name_chunk(&f, ar.source, strlen(ar.source), buf);
  f.linedefined = ar.linedefined;
  return frame_id(c, &f);
}

/* The frame of a builtin or a C function on the stack. */
static uint32_t c_place(mp_capture *c, lua_State *L, int i)
{
  char buf[MP_NAME_MAX];
  mp_frame f = mp_name_none();
#ifdef MP_LAYOUT
  uint8_t ffid = c->vm->proved ?
    AT(const uint8_t, lua_topointer(L, i), FUNC_FFID) : FFID_C;
  if (ffid > FFID_C) {
    f.kind = MP_BUILTIN;
    f.builtin = ffid;
  } else
#endif
    mp_name_cfunction(&f, (const void *)lua_tocfunction(L, i), buf);
  return frame_id(c, &f);
}

/* The frame of the function at i, at the instruction whose number is behind
** it; 0: not known. */
static uint32_t place(mp_capture *c, lua_State *L, int i)
{
  if (!lua_isfunction(L, i)) return 0;
  if (lua_iscfunction(L, i)) return c_place(c, L, i);
#ifdef MP_LAYOUT
  if (c->vm->proved)
    return proto_place(c, func_proto(lua_topointer(L, i)),
		       (uint32_t)lua_tointeger(L, i + 1));
#endif
  return function_place(c, L, i);
}

/* -- Traces given up ----------------------------------------------------- */

static bool same(const mp_giveup *a, const mp_giveup *b)
{
  return a->start == b->start && a->at == b->at &&
	 a->function == b->function && a->reason == b->reason &&
	 a->detail == b->detail && a->side == b->side && a->early == b->early;
}

static void count_giveup(mp_compiler *c, const mp_giveup *g)
{
  uint64_t key = mp_mix(1, (uint64_t)g->start << 32 | g->at);
  uint32_t i;
  key = mp_mix(key, (uint64_t)(uint32_t)g->reason << 32 | g->function);
  key = mp_mix(key, (uint64_t)(uint32_t)g->detail << 2 |
	       (uint64_t)g->side << 1 | (uint64_t)g->early);
  i = mp_map_get(&c->giveupmap, key);
  if (i != 0) {
    if (same(&c->giveups[i], g)) c->giveups[i].count += g->count;
    return;
  }
  i = c->ngiveups + 1;
  if (i > GIVEUPS_MAX ||
      !mp_mem_room(&c->giveups, i, &c->capgiveups,
		   sizeof(*c->giveups)) ||
      !mp_map_put(&c->giveupmap, key, i)) {
    c->dropped++;
    return;
  }
  c->giveups[i] = *g;
  c->ngiveups = i;
}

/* -- Traces made --------------------------------------------------------- */

/* Moves the ticks that were counted for a number to its trace. */
static void fold_ticks(mp_compiler *c, uint32_t number)
{
  uint32_t *ticks = c->cpu->in_trace;
  uint32_t i = c->by_number[number];
  if (ticks == NULL) return;
  if (i != 0 && c->listens)
    c->made[i].ticks += __atomic_exchange_n(&ticks[number], 0,
					    __ATOMIC_RELAXED);
  else
    ticks[number] = 0;
}

/* The trace of that number is no more. */
static void lose(mp_compiler *c, uint32_t number)
{
  fold_ticks(c, number);
  if (c->by_number[number] == 0) return;
  c->made[c->by_number[number]].gone = true;
  c->by_number[number] = 0;
  c->live--;
}

/* Makes room: traces that are gone and used no CPU are forgotten. */
static void compact(mp_compiler *c)
{
  uint32_t i, n = 0;
  mp_lock();
  for (i = 1; i <= c->nmade; i++) {
    const mp_made m = c->made[i];
    if (m.gone && m.ticks == 0) continue;
    c->made[++n] = m;
    if (!m.gone) c->by_number[m.trace.number] = n;
  }
  c->nmade = n;
  mp_unlock();
}

static void add_made(mp_compiler *c, const mp_jittrace *t)
{
  uint32_t i;
  if (c->nmade >= MADE_MAX) compact(c);
  i = c->nmade + 1;
  if (i > MADE_MAX ||
      !mp_mem_room(&c->made, i, &c->capmade, sizeof(*c->made))) {
    c->dropped++;
    return;
  }
  c->made[i] = (mp_made){ *t, proto_place(c->capture, t->proto, t->pos), 0,
			  false };
  c->by_number[t->number] = i;
  c->live++;
  c->nmade = i;
}

static bool is_that(const mp_made *m, const mp_jittrace *t)
{
  return m->trace.proto == t->proto && m->trace.pos == t->pos &&
	 m->trace.bytes == t->bytes && m->trace.root == t->root &&
	 m->trace.instructions == t->instructions;
}

/* Reads the trace of that number. */
static bool read_trace(mp_compiler *c, uint32_t number)
{
  uint32_t i = c->by_number[number];
  mp_jittrace t;
  if (!mp_jitstate_trace(c->capture->vm, number, &t)) {
    if (i != 0) lose(c, number);
    return false;
  }
  if (i != 0 && is_that(&c->made[i], &t)) {
    c->made[i].trace = t;
    fold_ticks(c, number);
  } else {
    if (i != 0) lose(c, number);
    add_made(c, &t);
  }
  return true;
}

static void add_flush(mp_compiler *c, const mp_flush *f)
{
  if (c->nflushes >= FLUSHES_MAX ||
      !mp_mem_room(&c->flushes, c->nflushes, &c->capflushes,
		   sizeof(*c->flushes))) {
    c->dropped++;
    return;
  }
  c->flushes[c->nflushes] = *f;
  c->nflushes++;
}

/* The VM's end flushes, too, and nothing follows. */
static void settle_flush(mp_compiler *c)
{
  uint32_t n;
  if (!c->flushing) return;
  c->flushing = false;
  add_flush(c, &c->pending);
  for (n = 1; n < NUMBERS; n++)
    if (c->by_number[n] != 0) lose(c, n);
}

#ifdef MP_LAYOUT

static bool has_traces(const mp_vm *vm, uint32_t limit)
{
  uint32_t n;
  for (n = 1; n < limit; n++)
    if (mp_trace_get(vm, n) != NULL) return true;
  return false;
}

/* Reads the traces that there are. at_end: the VM may have thrown them away,
** as it is being closed. */
static void read_traces(mp_compiler *c, bool at_end)
{
  mp_vm *vm = c->capture->vm;
  uint32_t n, limit, before = c->live;
  if (!vm->proved || !mp_jitstate_traces() || !mp_trace_known(vm)) return;
  limit = mp_trace_limit(vm);
  if (limit > NUMBERS) limit = NUMBERS;
  if (!has_traces(vm, limit)) {
    if (at_end) return;
    if (!c->listens && before > 0) {
      const mp_flush f = { mp_clock_wall(), MP_FLUSH_SEEN, -1 };
      add_flush(c, &f);
    }
  }
  for (n = 1; n < limit; n++) read_trace(c, n);
}

#else

static void read_traces(mp_compiler *c, bool at_end)
{
  (void)c; (void)at_end;
}

#endif

/* -- The event ----------------------------------------------------------- */

static uint32_t param(const mp_compiler *c, const char *name)
{
  int i;
  for (i = 0; i < MP_JIT_PARAMS; i++) {
    int32_t value;
    const char *s = c->capture->vm->proved ?
		    mp_jitstate_param(c->capture->vm, i, &value) : NULL;
    if (s != NULL && strcmp(s, name) == 0) return (uint32_t)value;
  }
  return 0;
}

/* Comes when the traces are gone. */
static void on_flush(mp_compiler *c)
{
  uint32_t most = param(c, "maxtrace");
  settle_flush(c);
  c->pending = (mp_flush){
    mp_clock_wall(),
    c->last >= 0 ? MP_FLUSH_GIVEUP :
    most > 0 && c->live >= most ? MP_FLUSH_TRACES : MP_FLUSH_ASKED,
    c->last
  };
  c->flushing = true;
}

static void on_start(mp_compiler *c, lua_State *L)
{
  uint32_t number = (uint32_t)lua_tointeger(L, 2);
  settle_flush(c);
  c->started++;
  if (number < NUMBERS) lose(c, number);
  c->start = place(c->capture, L, 3);
  c->side = lua_isnumber(L, 5) && lua_tointeger(L, 6) >= 0;
}

static void on_abort(mp_compiler *c, lua_State *L)
{
  mp_giveup g = { .detail = -1, .reason = -1, .count = 1 };
  c->aborted++;
  g.start = c->start;
  g.side = c->side;
  g.at = place(c->capture, L, 3);
  if (lua_type(L, 5) == LUA_TNUMBER) g.reason = (int32_t)lua_tointeger(L, 5);
  if (lua_type(L, 6) == LUA_TNUMBER) g.detail = (int32_t)lua_tonumber(L, 6);
  else if (lua_isfunction(L, 6)) g.function = place(c->capture, L, 6);
  count_giveup(c, &g);
  c->last = g.reason;
}

static void on_stop(mp_compiler *c, lua_State *L)
{
  uint32_t number = (uint32_t)lua_tointeger(L, 2);
  c->stopped++;
  if (c->capture->vm->proved && number < NUMBERS) read_trace(c, number);
}

/* The handler: the arguments are those that jit.v takes. */
static int on_trace(lua_State *L)
{
  const char *what = lua_tostring(L, 1);
  mp_compiler *c;
  lua_pushlightuserdata(L, &compiler_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  c = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (c == NULL || !c->listens || what == NULL) return 0;
  mp_capture_enter(c->capture);
  if (strcmp(what, "flush") == 0) on_flush(c);
  else if (strcmp(what, "start") == 0) on_start(c, L);
  else if (strcmp(what, "stop") == 0) on_stop(c, L);
  if (strcmp(what, "abort") == 0) on_abort(c, L);
  else c->last = -1;
  mp_capture_leave(c->capture);
  return 0;
}

/* The key of an event in LuaJIT's table of handlers. */
static int event_key(const char *name)
{
  uint32_t h = (uint32_t)strlen(name);
  for (; *name != '\0'; name++) h ^= (h << 6 | h >> 26) + (uint8_t)*name;
  return (int)(h << 3);
}

/* The handler of that event, or NULL. */
static const void *handler(lua_State *L)
{
  const void *f = NULL;
  lua_getfield(L, LUA_REGISTRYINDEX, "_VMEVENTS");
  if (lua_istable(L, -1)) {
    lua_rawgeti(L, -1, event_key("trace"));
    f = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return f;
}

/* The program may have set a handler of its own since. */
static void look_at_handler(mp_compiler *c)
{
  lua_State *L = c->capture->anchor;
  if (c->listens && L != NULL && handler(L) != c->handler)
    c->why = "the program has set a handler of its own (jit.attach) since";
}

/* Pushes LuaJIT's jit.attach. False: the program has put another thing there,
** and nothing is pushed. */
static bool push_attach(lua_State *L)
{
  int top = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "jit");
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "attach");
    lua_rawget(L, -2);
  }
  if (!lua_iscfunction(L, -1)) {
    lua_settop(L, top);
    return false;
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return true;
}

static void set_key(lua_State *L, char *key, int value)
{
  lua_pushlightuserdata(L, key);
  lua_pushvalue(L, value);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

static int listen(lua_State *L)
{
  mp_compiler *c = lua_touserdata(L, 1);
  if (handler(L) != NULL) {
    c->why = "the program has a handler of its own (jit.attach)";
    return 0;
  }
  if (!push_attach(L)) {
    c->why = "jit.attach is not LuaJIT's";
    return 0;
  }
  lua_pushcfunction(L, on_trace);
  c->handler = lua_topointer(L, -1);
  set_key(L, &compiler_key, 1);
  set_key(L, &handler_key, 3);
  lua_pushliteral(L, "trace");
  c->listens = c->heard = true;
  lua_call(L, 2, 0);
  return 0;
}

static int listen_no_more(lua_State *L)
{
  lua_settop(L, 0);
  lua_pushnil(L);
  set_key(L, &compiler_key, 1);
  if (!push_attach(L)) return 0;
  lua_pushlightuserdata(L, &handler_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  set_key(L, &handler_key, 1);
  if (lua_isfunction(L, -1)) lua_call(L, 1, 0);
  return 0;
}

/* -- Penalties and blacklisted starts ------------------------------------ */

/* The prototype of an entry; NULL: it was freed. Frees that were not seen, as
** the program had another allocator meanwhile, must not lead astray. */
static const char *proto_of(const mp_code *e)
{
  return e->proto != NULL && mp_jitstate_alive(e->proto) ? e->proto : NULL;
}

/* The prototype in which a trace may start at that instruction, among those
** that samples met. */
static const char *find_proto(const mp_codes *codes, uint64_t pc, uint32_t *pos)
{
  uint32_t i;
  for (i = 1; i <= codes->count; i++) {
    const mp_code *e = &codes->list[i];
    if (pc - (uint64_t)(uintptr_t)e->proto < e->size && proto_of(e) != NULL &&
	mp_jitstate_pos(e->proto, pc, pos) &&
	mp_jitstate_starts(e->proto, *pos))
      return e->proto;
  }
  return NULL;
}

/* Counts a start that was given up, if it lies in a known prototype. */
static bool add_penalty(mp_compiler *c, const mp_penalty *e, bool early)
{
  mp_giveup g = { .detail = -1, .early = early };
  uint32_t pos;
  const char *pt = find_proto(&c->capture->codes, e->pc, &pos);
  if (pt == NULL) return false;
  g.start = proto_place(c->capture, pt, pos);
  g.reason = e->reason;
  count_giveup(c, &g);
  return true;
}

/* Adds those from before the start whose prototypes were met by now. */
static void add_early(mp_compiler *c)
{
  mp_penalty *e = c->penalties.list, *end = e + MP_PENALTIES;
  for (; e < end; e++)
    if (e->pc != 0 && add_penalty(c, e, true)) e->pc = 0;
}

/* Without the event: adds what has changed in the VM's table. */
static void look_at_table(mp_compiler *c)
{
  mp_penalty now[MP_PENALTIES];
  uint32_t i;
  if (!c->penalties.live || !c->capture->vm->proved) return;
  mp_jitstate_read_alive(c->capture->vm, &c->penalties, now);
  for (i = 0; i < MP_PENALTIES; i++) {
    mp_penalty *seen = &c->seen[i];
    if (now[i].pc != 0 &&
	(now[i].pc != seen->pc || now[i].reason != seen->reason) &&
	add_penalty(c, &now[i], false))
      *seen = now[i];
  }
}

static void add_blacklisted(mp_compiler *c)
{
  const mp_codes *codes = &c->capture->codes;
  uint32_t i, k, pos, n = codes->count;
  bool loop;
  c->nblacklisted = 0;
  for (i = 1; i <= n; i++) {
    const char *pt = proto_of(&codes->list[i]);
    for (pos = 0; pt != NULL && mp_jitstate_blacklisted(pt, &pos, &loop);
	 pos++) {
      k = c->nblacklisted;
      if (!mp_mem_room(&c->blacklisted, k, &c->capblacklisted,
		       sizeof(*c->blacklisted)))
	return;
      c->blacklisted[k].start = proto_place(c->capture, pt, pos);
      c->blacklisted[k].loop = loop;
      c->nblacklisted = k + 1;
    }
  }
}

/* -- The run ------------------------------------------------------------- */

void mp_compiler_prepare(mp_compiler *c)
{
  const mp_vm *vm = c->capture->vm;
  if (!c->on || !vm->proved) return;
  mp_jitstate_learn();
  c->capture->penalties = &c->penalties;
  mp_jitstate_read(vm, &c->penalties);
}

void mp_compiler_start(mp_compiler *c, lua_State *L)
{
  if (!c->on) return;
  c->last = -1;
  c->by_number = mp_calloc(NUMBERS, sizeof(*c->by_number));
  c->cpu->in_trace = mp_calloc(NUMBERS, sizeof(*c->cpu->in_trace));
  if (c->by_number == NULL || c->cpu->in_trace == NULL) {
    c->why = "there was no memory";
    return;
  }
  if (lua_cpcall(L, listen, c) != 0) {
    c->listens = c->heard = false;
    c->why = "jit.attach failed";
    lua_pop(L, 1);
  }
  c->penalties.live = !c->listens;
  read_traces(c, false);
}

void mp_compiler_stop(mp_compiler *c, lua_State *L)
{
  if (!c->on) return;
  mp_compiler_take(c);
  if (!c->listens) return;
  c->listens = false;
  if (lua_cpcall(L, listen_no_more, NULL) != 0) lua_pop(L, 1);
}

void mp_compiler_look(mp_compiler *c)
{
  double now;
  if (!c->on || c->by_number == NULL) return;
  now = mp_clock_wall();
  if (now < c->looks) return;
  c->looks = now + LOOK_AGAIN;
  mp_capture_enter(c->capture);
  settle_flush(c);
  read_traces(c, false);
  look_at_table(c);
  mp_capture_leave(c->capture);
}

void mp_compiler_take(mp_compiler *c)
{
  mp_vm *vm = c->capture->vm;
  if (!c->on || c->by_number == NULL) return;
  look_at_handler(c);
  if (!vm->proved) return;
  mp_capture_enter(c->capture);
  if (!c->flushing) read_traces(c, true);
  add_early(c);
  look_at_table(c);
  add_blacklisted(c);
  c->looked = true;
  mp_capture_leave(c->capture);
}

static void forget(mp_compiler *c)
{
  c->started = c->stopped = c->aborted = c->dropped = 0;
  c->ngiveups = c->nflushes = c->nmade = c->nblacklisted = c->live = 0;
  mp_map_clear(&c->giveupmap);
}

void mp_compiler_restart(mp_compiler *c)
{
  forget(c);
  if (c->by_number == NULL) return;
  memset(c->by_number, 0, NUMBERS * sizeof(*c->by_number));
  memset(c->cpu->in_trace, 0, NUMBERS * sizeof(*c->cpu->in_trace));
  c->looks = 0;
}

void mp_compiler_free(mp_compiler *c)
{
  uint32_t *ticks = c->cpu->in_trace;
  c->cpu->in_trace = NULL;
  forget(c);
  mp_map_free(&c->giveupmap);
  mp_free(c->giveups);
  mp_free(c->made);
  mp_free(c->flushes);
  mp_free(c->blacklisted);
  mp_free(c->by_number);
  mp_free(ticks);
}
