/* SPDX-License-Identifier: MIT */
/*
** See sample/decided.h.
*/
#include "config.h"

#include <string.h>

#include "data/clock.h"
#include "data/lock.h"
#include "data/mem.h"
#include "sample/decided.h"
#include "sample/name.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/trace.h"

#include "lauxlib.h"

#define GIVEUPS_MAX	8192u	/* Entries of the lists, at most. */
#define GONE_MAX	8192u
#define FLUSHES_MAX	4096u
#define ESCAPED_MAX	4096u
#define UNUSED_MAX	128u	/* Traces that are gone and used nothing: to */
				/* report all would cost more than they did. */
#define LISTED_MAX	(4u << 20)	/* Bytes of all listings. */

/* -- Places -------------------------------------------------------------- */

/* The frame's number; 0: no memory. */
static uint32_t frame_id(mp_capture *c, const mp_frame *f)
{
  uint32_t id = mp_stacks_frame(&c->stacks, f);
  return id != MP_NONE ? id : 0;
}

uint32_t mp_decided_proto(mp_capture *c, const char *proto, uint32_t pos)
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

uint32_t mp_decided_place(mp_capture *c, lua_State *L, int i)
{
  if (!lua_isfunction(L, i)) return 0;
  if (lua_iscfunction(L, i)) return c_place(c, L, i);
#ifdef MP_LAYOUT
  if (c->vm->proved)
    return mp_decided_proto(c, func_proto(lua_topointer(L, i)),
		       (uint32_t)lua_tointeger(L, i + 1));
#endif
  return function_place(c, L, i);
}

bool mp_decided_for_good(const char *proto, uint32_t pos)
{
#ifdef MP_LAYOUT
  uint32_t i = pos;
  bool loop;
  return proto != NULL && mp_jitstate_blacklisted(proto, &i, &loop) && i == pos;
#else
  (void)proto; (void)pos;
  return false;
#endif
}

/* -- Traces given up ----------------------------------------------------- */

static bool same(const mp_giveup *a, const mp_giveup *b)
{
  return a->start == b->start && a->at == b->at && a->pos == b->pos &&
	 a->function == b->function && a->reason == b->reason &&
	 a->detail == b->detail && a->side == b->side && a->early == b->early;
}

/* One code has several prototypes if it is loaded again. */
static void add_giveup(mp_giveup *all, const mp_giveup *g)
{
  all->count += g->count;
  all->final |= g->final;
  if (all->proto != g->proto) all->loads++;
  all->proto = g->proto;
}

void mp_decided_giveup(mp_compiler *c, const mp_giveup *g)
{
  uint64_t key = mp_mix(1, (uint64_t)g->start << 32 | g->at);
  uint32_t i;
  key = mp_mix(key, (uint64_t)(uint32_t)g->reason << 32 | g->function);
  key = mp_mix(key, g->pos);
  key = mp_mix(key, (uint64_t)(uint32_t)g->detail << 2 |
	       (uint64_t)g->side << 1 | (uint64_t)g->early);
  i = mp_map_get(&c->giveupmap, key);
  if (i != 0) {
    if (same(&c->giveups[i], g)) add_giveup(&c->giveups[i], g);
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

/* -- Objects that traces make -------------------------------------------- */

static void add_escaped(mp_compiler *c, const mp_escaped *e)
{
  uint64_t key = mp_mix(mp_mix(1, (uint64_t)e->place << 32 | e->at), e->how);
  uint32_t i = mp_map_get(&c->escapedmap, key);
  if (i != 0) {
    c->escaped[i].count++;
    return;
  }
  i = c->nescaped + 1;
  if (i > ESCAPED_MAX ||
      !mp_mem_room(&c->escaped, i, &c->capescaped, sizeof(*c->escaped)) ||
      !mp_map_put(&c->escapedmap, key, i)) {
    c->dropped++;
    return;
  }
  c->escaped[i] = *e;
  c->nescaped = i;
}

static void add_objects(mp_compiler *c, uint32_t number)
{
  mp_escape list[MP_ESCAPES_MAX];
  uint32_t i, n = mp_escape_find(c->capture->vm, number, list);
  for (i = 0; i < n; i++) {
    const mp_escape *e = &list[i];
    mp_escaped to = { .how = e->how, .count = 1 };
    to.place = mp_decided_proto(c->capture, e->proto, e->pos);
    if (e->proto_at != NULL)
      to.at = mp_decided_proto(c->capture, e->proto_at, e->pos_at);
    add_escaped(c, &to);
  }
}

/* -- Listings -------------------------------------------------------------- */

/* Another thread may read it when the process ends. */
static void unlist(mp_compiler *c, mp_made *m)
{
  char *s = m->listing;
  if (s == NULL) return;
  mp_lock();
  m->listing = NULL;
  c->listed -= strlen(s) + 1;
  mp_unlock();
  mp_free(s);
}

void mp_decided_unlist(mp_compiler *c)
{
  uint32_t i;
  for (i = 1; i <= c->nmade; i++) unlist(c, &c->made[i]);
}

void mp_decided_list(mp_compiler *c, uint32_t number)
{
  mp_made *m = &c->made[c->by_number[number]];
  const char *T = mp_trace_get(c->capture->vm, number);
  char *s;
  if (c->by_number[number] == 0 || T == NULL) return;
  unlist(c, m);
  s = mp_listing_end(&c->listing, T);
  if (s == NULL || c->listed + strlen(s) >= LISTED_MAX) {
    mp_free(s);
    c->leftout++;
    return;
  }
  m->listing = s;
  c->listed += strlen(s) + 1;
}

/* -- Traces made --------------------------------------------------------- */

/* Moves what was counted for a number to its trace: ticks, which may come
** meanwhile, and bytes. */
static void fold(mp_compiler *c, uint32_t number)
{
  uint32_t *ticks = c->cpu->in_trace, n;
  double *bytes = c->capture->in_trace;
  uint32_t i = c->by_number[number];
  if (ticks == NULL) return;
  n = __atomic_exchange_n(&ticks[number], 0, __ATOMIC_RELAXED);
  if (i != 0 && c->listens) {
    c->made[i].ticks += n;
    c->made[i].allocated += bytes[number];
  }
  bytes[number] = 0;
}

void mp_decided_fold(mp_compiler *c)
{
  uint32_t n;
  for (n = 1; n < c->numbers; n++)
    if (c->by_number[n] != 0) fold(c, n);
}

static bool is_unused(const mp_made *m)
{
  return m->gone && m->ticks == 0 && m->allocated == 0;
}

static void lose(mp_compiler *c, mp_made *m)
{
  m->gone = true;
  if (!is_unused(m)) return;
  unlist(c, m);
  c->unused++;
}

void mp_decided_lose(mp_compiler *c, uint32_t number)
{
  fold(c, number);
  if (c->by_number[number] == 0) return;
  lose(c, &c->made[c->by_number[number]]);
  c->by_number[number] = 0;
  c->live--;
}

#define BYTES_OF_TICK	4096	/* Are worth as much as a sample. */

static bool used_little(const mp_made *m, double most)
{
  return m->gone && m->ticks <= most && m->allocated <= most * BYTES_OF_TICK;
}

/* Whether a trace that is unused stays, for the number of those that began at
** its place: the first of several does. first: the indices of those by place.
** n: its index if it stays. */
static bool stays(mp_compiler *c, mp_map *first, mp_made *m, uint32_t n)
{
  uint64_t key = mp_mix(1, m->start);
  uint32_t i = mp_map_get(first, key);
  if (m->trace.root != 0) return false;
  if (i != 0) {
    c->made[i].alike += m->alike + 1;
    return false;
  }
  if (m->alike == 0 && mp_map_get(&c->begun, key) == 0) {
    mp_map_put(&c->begun, key, 1);
    return false;
  }
  if (m->alike == 0) m->alike = 1;
  mp_map_put(first, key, n);
  return true;
}

/* The same for any trace, where those go that used no more than so many
** ticks. */
static bool is_kept(mp_compiler *c, mp_map *first, mp_made *m, uint32_t n,
		    double most)
{
  if (most == 0 && is_unused(m)) return stays(c, first, m, n);
  if (!used_little(m, most)) return true;
  c->dropped++;
  return false;
}

#define KEPT	1		/* The last trace of that number. */
#define LOST	2

/* Forgets traces that are gone and used no more than so many ticks. A side
** trace has its parent by a number, which others have later: if that is lost,
** it has none. */
static void forget_gone(mp_compiler *c, double most)
{
  mp_map first = MP_MAP_EMPTY, last = MP_MAP_EMPTY;
  uint32_t i, n = 0;
  for (i = 1; i <= c->nmade; i++)
    if (used_little(&c->made[i], most)) unlist(c, &c->made[i]);
  mp_lock();
  for (i = 1; i <= c->nmade; i++) {
    mp_made m = c->made[i];
    bool kept = is_kept(c, &first, &m, n + 1, most);
    if (m.trace.root != 0 &&
	mp_map_get(&last, mp_mix(1, m.trace.parent)) == LOST)
      m.trace.parent = MP_TRACE_NUMBERS;
    mp_map_put(&last, mp_mix(1, m.trace.number), kept ? KEPT : LOST);
    if (!kept) continue;
    c->made[++n] = m;
    if (!m.gone) c->by_number[m.trace.number] = n;
  }
  c->nmade = n;
  mp_unlock();
  c->unused = 0;
  mp_map_free(&first);
  mp_map_free(&last);
}

/* Makes room: first go those that used nothing. */
static void compact(mp_compiler *c)
{
  double most = 0;
  do {
    forget_gone(c, most);
    most = most * 2 + 1;
  } while (c->nmade - c->live > GONE_MAX / 4 * 3);
}

static void add_made(mp_compiler *c, const mp_jittrace *t)
{
  uint32_t i;
  if (c->unused >= UNUSED_MAX) forget_gone(c, 0);
  if (c->nmade - c->live >= GONE_MAX) compact(c);
  i = c->nmade + 1;
  if (!mp_mem_room(&c->made, i, &c->capmade, sizeof(*c->made))) {
    c->dropped++;
    return;
  }
  c->made[i] = (mp_made){
    .trace = *t, .start = mp_decided_proto(c->capture, t->proto, t->pos)
  };
  c->by_number[t->number] = i;
  if (t->number >= c->numbers) c->numbers = t->number + 1;
  c->live++;
  c->nmade = i;
  add_objects(c, t->number);
}

static bool is_that(const mp_made *m, const mp_jittrace *t)
{
  return m->trace.proto == t->proto && m->trace.pos == t->pos &&
	 m->trace.bytes == t->bytes && m->trace.root == t->root &&
	 m->trace.instructions == t->instructions;
}

bool mp_decided_trace(mp_compiler *c, uint32_t number)
{
  uint32_t i = c->by_number[number];
  mp_jittrace t;
  if (!mp_jitstate_trace(c->capture->vm, number, &t)) {
    if (i != 0) mp_decided_lose(c, number);
    return false;
  }
  if (i != 0 && is_that(&c->made[i], &t)) {
    c->made[i].trace = t;
    fold(c, number);
  } else {
    if (i != 0) mp_decided_lose(c, number);
    add_made(c, &t);
  }
  return true;
}

/* Where there is no more room, it counts with the last one of its kind. */
static void add_flush(mp_compiler *c, const mp_flush *f)
{
  uint32_t i = c->nflushes;
  if (i < FLUSHES_MAX && mp_mem_room(&c->flushes, i, &c->capflushes,
				     sizeof(*c->flushes))) {
    c->flushes[i] = *f;
    c->nflushes = i + 1;
    return;
  }
  while (i > 0 && (c->flushes[i-1].why != f->why ||
		   c->flushes[i-1].reason != f->reason))
    i--;
  if (i > 0) c->flushes[i-1].count++;
  else c->dropped++;
}

/* The VM's end flushes, too, and nothing follows. */
void mp_decided_settle(mp_compiler *c)
{
  uint32_t n;
  if (!c->flushing) return;
  c->flushing = false;
  add_flush(c, &c->pending);
  for (n = 1; n < c->numbers; n++)
    if (c->by_number[n] != 0) mp_decided_lose(c, n);
  c->numbers = 0;
}

#ifdef MP_LAYOUT

static bool has_traces(const mp_vm *vm, uint32_t limit)
{
  uint32_t n;
  for (n = 1; n < limit; n++)
    if (mp_trace_get(vm, n) != NULL) return true;
  return false;
}

void mp_decided_traces(mp_compiler *c, bool at_end)
{
  mp_vm *vm = c->capture->vm;
  uint32_t n, limit, before = c->live;
  if (!vm->proved || !mp_jitstate_traces() || !mp_trace_known(vm)) return;
  limit = mp_trace_limit(vm);
  if (limit > MP_TRACE_NUMBERS) limit = MP_TRACE_NUMBERS;
  if (!has_traces(vm, limit)) {
    if (at_end) return;
    if (!c->listens && before > 0) {
      const mp_flush f = { mp_clock_wall(), MP_FLUSH_SEEN, -1, 1 };
      add_flush(c, &f);
    }
  }
  for (n = 1; n < limit; n++) mp_decided_trace(c, n);
}

#else

void mp_decided_traces(mp_compiler *c, bool at_end)
{
  (void)c; (void)at_end;
}

#endif
