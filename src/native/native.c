/* SPDX-License-Identifier: MIT */
/*
** See native/native.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/clock.h"
#include "data/live.h"
#include "data/mem.h"
#include "data/period.h"
#include "data/places.h"
#include "data/port.h"
#include "data/samples.h"
#include "lauxlib.h"
#include "native/native.h"
#include "sample/nativename.h"

/* -- Sites ---------------------------------------------------------------- */

/*
** The places where LuaJIT's allocator calls the system. That memory is the Lua
** heap, which is counted by its objects, not as C memory.
*/

#define SITES		32	/* Places, at most. */

/* Makes an allocator request memory from the system in all of its ways. */
static void exercise(lua_Alloc f, void *ud)
{
  enum { BLOCKS = 64, SIZE = 100 << 10, LARGE = 1 << 20 };
  void *blocks[BLOCKS], *p = f(ud, NULL, 0, LARGE), *q;
  int i;
  if (p != NULL && (q = f(ud, p, LARGE, 4 * LARGE)) != NULL) {
    p = f(ud, q, 4 * LARGE, 2 * LARGE);
    f(ud, p != NULL ? p : q, p != NULL ? 2 * LARGE : 4 * LARGE, 0);
  } else {
    f(ud, p, LARGE, 0);
  }
  for (i = 0; i < BLOCKS; i++) blocks[i] = f(ud, NULL, 0, SIZE);
  for (i = 0; i < BLOCKS; i++) f(ud, blocks[i], blocks[i] ? SIZE : 0, 0);
}

/* Learns the places by making LuaJIT's own allocator, and that one, request
** memory in all of their ways; from then on the port knows them. Takes a Lua
** state for a moment. One thread at a time. */
static void nativesites_learn(mp_port *port, lua_Alloc f, void *ud)
{
  static const void *sites[SITES];
  lua_State *L;
  port->note(sites, SITES);
  if ((L = luaL_newstate()) != NULL) {
    void *builtin;
    lua_Alloc allocf = lua_getallocf(L, &builtin);
    exercise(allocf, builtin);
    lua_close(L);
  }
  exercise(f, ud);
  port->nsites = port->note(NULL, 0);
  port->sites = sites;
}

/* -- The sampler ---------------------------------------------------------- */

#define PATIENCE	200	/* Milliseconds that the lock is waited for. */

static struct {
  pthread_mutex_t lock;
  mp_port *port;		/* Of the library; NULL: there is none. Set */
				/* once, before there are profiles. */

  /* Whose it is; NULL: nobody's. Changes under the lock. */
  mp_capture *_Atomic capture;
  mp_alloc *heap;
  const pthread_t *thread;
  const mp_capture *_Atomic last;  /* Whose it was: for its report. */

  mp_period period;
  mp_counts counts;		/* Rows; each stack is one of the capture's. */
  mp_samples samples;
  mp_live live;			/* Never freed: other threads look at it. */
  mp_map leaves;		/* Address of code -> frame. */
  mp_map rows;			/* Row of the capture and frame -> row. VM's. */
  uint32_t others, unknown;	/* Stacks of what is not known better. */
  double allocated;		/* Bytes, up to the last sample. */
  bool leaks;			/* Records of what is in use are wanted. */
  mp_held kept;			/* These. */
  uint64_t cycle;		/* Their number, of those dropped, too. */
  double began;			/* When it started, by the wall clock. */
  uint64_t taken;
  atomic_uint_least64_t dropped;
  pthread_t forker;		/* The thread that forks, if `forking`. */
  bool forking;			/* `forker` has the lock while it forks. */
} n = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- The lock ------------------------------------------------------------ */

/* By a clock that nobody sets. */
static bool wait_for_lock(void)
{
#ifdef HAVE_PTHREAD_MUTEX_CLOCKLOCK
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  ts.tv_nsec += PATIENCE * 1000000;
  if (ts.tv_nsec >= 1000000000) {
    ts.tv_sec++;
    ts.tv_nsec -= 1000000000;
  }
  return pthread_mutex_clocklock(&n.lock, CLOCK_MONOTONIC, &ts) == 0;
#else
  int i;
  for (i = 0; i < PATIENCE; i++) {
    mp_clock_pause(1);
    if (pthread_mutex_trylock(&n.lock) == 0) return true;
  }
  return false;
#endif
}

static bool lock(void)
{
  if (pthread_mutex_trylock(&n.lock) == 0 || wait_for_lock()) return true;
  n.dropped++;
  return false;
}

static void unlock(void) { pthread_mutex_unlock(&n.lock); }

/* -- The row of an allocation -------------------------------------------- */

/* From the start of this library's file to the end of its code. */
static bool is_own(const void *ret)
{
  extern const char etext[] __attribute__((visibility("hidden")));
  static const char *base;
  Dl_info info;
  if (base == NULL && dladdr(&base, &info) != 0) base = info.dli_fbase;
  return (const char *)ret >= base && (const char *)ret < etext;
}

/* The frame of the code that made the call. MP_NONE: no memory. The frame is
** named when it is reported: here a thread that waits for our lock may have the
** loader's. */
static uint32_t leaf(const void *ret, const char *what)
{
  uint64_t key = mp_mix(mp_mix(1, (uint64_t)(uintptr_t)ret),
			(uint64_t)(uintptr_t)what);
  uint32_t id = mp_map_get(&n.leaves, key);
  char buf[MP_NATIVE_NAME];
  mp_frame f;
  if (id != 0) return id;
  f = mp_nativename_frame(ret, what, buf);
  id = mp_stacks_frame(&n.capture->stacks, &f);
  if (id != MP_NONE) mp_map_put(&n.leaves, key, id);
  return id;
}

/* The keys of an allocation's row. */
typedef struct place {
  uint32_t stack, zone;
  uint8_t state;
} place;

static place place_of(const void *ret, const char *what)
{
  place w = { n.unknown, 0, 'C' };
  uint32_t id = mp_capture_running(n.capture, 0), frame, stack;
  const mp_row *r;
  frame = leaf(ret, what);
  if (id == 0 || frame == MP_NONE) return w;
  r = &n.capture->counts->rows[id];
  stack = mp_stacks_push(&n.capture->stacks, r->stack, frame);
  if (stack != MP_NONE) w = (place){ stack, r->zone, r->state };
  return w;
}

/* On the VM's thread, outside of the lock. */
static place capture(const void *ret, const char *what)
{
  mp_capture *c = n.capture;
  place w = { n.unknown, 0, 'C' };
  if (!mp_alloc_vm(n.heap)->proved) return w;
  mp_capture_enter(c);
  w = place_of(ret, what);
  mp_capture_leave(c);
  return w;
}

static bool is_vm_thread(void)
{
  return n.thread != NULL && pthread_equal(*n.thread, pthread_self());
}

/* -- Samples ------------------------------------------------------------- */

static void draw_distance(mp_draw *d, double inuse)
{
  if (mp_period_due(&n.period))
    mp_period_adapt(&n.period, (uint64_t)n.allocated, (size_t)inuse,
		    mp_clock_cpu());
  d->left = d->drawn = mp_period_next(&n.period) - 1;
  d->mean = n.period.mean;
  d->epoch = n.port->epoch;
}

static double in_use(void)
{
  return (double)mp_live_count(&n.live) * n.period.mean;
}

/* Records what is in use, by row. */
static void record(void)
{
  const mp_held_record now = {
    mp_clock_wall() - n.began, n.allocated, ++n.cycle
  };
  n.kept.due = 0;
  mp_held_flip(&n.kept, &now, &n.counts);
  mp_held_end(&n.kept);
}

static void count(void *p, size_t size, const mp_draw *d, const place *w)
{
  uint32_t row = mp_counts_row(&n.counts, w->stack, w->zone, w->state, 0);
  uint32_t id = row != 0 ? mp_samples_new(&n.samples) : 0, old;
  double objects = mp_period_weight(d->mean, size);
  if (id == 0) {
    n.dropped++;
    return;
  }
  n.samples.list[id] = (mp_sample){ .objects = objects, .size = size,
				    .row = row };
  mp_counts_alloc(&n.counts, row, objects, size);
  n.taken++;
  old = mp_live_put(&n.live, p, id);
  if (old == 0) return;
  if (old == MP_LIVE_NOMEM) old = id;
  mp_counts_freed(&n.counts, n.samples.list[old].row,
		  n.samples.list[old].objects, n.samples.list[old].size);
  mp_samples_release(&n.samples, old);
}

/* The first allocation of a thread: its first distance. False: it is no
** sample. */
static bool begin(mp_draw *d, size_t size)
{
  draw_distance(d, in_use());
  d->left -= (int64_t)size;
  return d->left < 0;
}

static void made(void *p, size_t size, const void *ret, const char *what,
		 mp_draw *d)
{
  bool own = is_own(ret), here = is_vm_thread();
  place w = { n.others, 0, 'C' };
  double begun;
  if (here && (n.heap == NULL || !mp_alloc_counts(n.heap))) own = true;
  begun = !own && here ? mp_period_begin(&n.period) : 0;
  if (d->epoch != n.port->epoch) {
    bool sample = false;
    if (!lock()) return;
    if (n.capture != NULL) sample = begin(d, size);
    unlock();
    if (!sample) return;
  }
  if (own) {
    d->left += (int64_t)size;
    return;
  }
  if (here) w = capture(ret, what);
  if (!lock()) return;
  if (n.capture != NULL && w.stack != 0) {
    n.allocated += (double)(d->drawn - d->left);
    count(p, size, d, &w);
    if (n.leaks && n.allocated >= n.kept.due) record();
    mp_period_end(&n.period, begun);
    draw_distance(d, in_use());
  }
  unlock();
}

static uint32_t take(void *p)
{
  uint32_t id;
  if (!lock()) return 0;
  id = n.capture != NULL ? mp_live_take(&n.live, p) : 0;
  unlock();
  return id;
}

static void drop_locked(uint32_t id)
{
  const mp_sample *s = &n.samples.list[id];
  if (n.capture == NULL || id > n.samples.count || s->size == 0) return;
  mp_counts_freed(&n.counts, s->row, s->objects, s->size);
  mp_samples_release(&n.samples, id);
}

static void drop(uint32_t id)
{
  if (!lock()) return;
  drop_locked(id);
  unlock();
}

static void put(void *p, uint32_t id)
{
  if (!lock()) return;
  if (n.capture != NULL && mp_live_put(&n.live, p, id) != 0) n.dropped++;
  unlock();
}

static void gone(void *p)
{
  uint32_t id;
  if (!lock()) return;
  id = n.capture != NULL ? mp_live_take(&n.live, p) : 0;
  if (id != 0) drop_locked(id);
  unlock();
}

static const mp_sink sink = { made, gone, take, drop, put };

/* -- Beginning and end --------------------------------------------------- */

static uint32_t pseudo_stack(mp_capture *c, const char *name)
{
  mp_frame f = { .kind = MP_PSEUDO, .linedefined = -1, .name = name };
  uint32_t frame;
  f.namelen = (uint32_t)strlen(name);
  frame = mp_stacks_frame(&c->stacks, &f);
  return frame != MP_NONE ? mp_stacks_push(&c->stacks, 0, frame) : MP_NONE;
}

/* Forgets what the last profile counted. */
static void clear(void)
{
  mp_counts_free(&n.counts);
  mp_samples_free(&n.samples);
  mp_map_free(&n.leaves);
  mp_map_free(&n.rows);
  mp_held_free(&n.kept);
  mp_live_free(&n.live);
  mp_counts_init(&n.counts);
  memset(&n.samples, 0, sizeof(n.samples));
  n.allocated = 0;
  n.taken = 0;
  n.dropped = 0;
  n.cycle = 0;
  n.last = NULL;
}

void mp_native_install(void)
{
  n.port = mp_port_find();
}

static bool start(mp_capture *c, mp_alloc *heap, const pthread_t *thread,
		  uint64_t period, uint64_t seed)
{
  static uint32_t epoch;
  clear();
  n.others = pseudo_stack(c, "(other threads)");
  n.unknown = pseudo_stack(c, "(not known)");
  if (n.others == MP_NONE || n.unknown == MP_NONE ||
      !mp_live_init(&n.live, period == 1))
    return false;
  mp_period_init(&n.period, period, seed);
  n.heap = heap;
  n.leaks = mp_alloc_wants(heap)->leaks;
  n.began = mp_clock_wall();
  n.thread = thread;
  n.capture = c;
  n.last = c;
  n.port->sink = &sink;
  n.port->filter = n.live.hashes;
  if (++epoch == 0) epoch = 1;
  n.port->epoch = epoch;
  return true;
}

bool mp_native_start(mp_capture *c, mp_alloc *heap, const pthread_t *thread,
		     uint64_t period, uint64_t seed)
{
  bool ok = false;
  void *ud;
  lua_Alloc f = mp_alloc_original(heap, &ud);
  if (n.port == NULL || n.capture != NULL) return false;
  mp_port_pause();
  if (lock()) {
    if (n.capture == NULL && n.port->nsites == 0)
      nativesites_learn(n.port, f, ud);
    ok = n.capture == NULL && start(c, heap, thread, period, seed);
    unlock();
  }
  mp_port_resume();
  return ok;
}

void mp_native_stop(const mp_capture *c)
{
  if (n.capture != c) return;
  while (!lock()) ;  /* It is held for a moment only. */
  n.port->epoch = 0;
  n.capture = NULL;
  n.heap = NULL;
  n.thread = NULL;
  unlock();
}

bool mp_native_has(const mp_capture *c) { return n.capture == c; }

/* -- fork ---------------------------------------------------------------- */

void mp_native_before_fork(void)
{
  if (!lock()) return;
  n.forker = pthread_self();
  n.forking = true;
}

/* Whether this thread forks, and got the lock for it. */
static bool end_fork(void)
{
  if (!n.forking || !pthread_equal(n.forker, pthread_self())) return false;
  n.forking = false;
  return true;
}

void mp_native_parent(void)
{
  if (end_fork()) unlock();
}

void mp_native_child(mp_native_forked how)
{
  bool whole = end_fork();
  n.forking = false;
  n.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  if (n.capture == NULL || (whole && how == MP_NATIVE_ON)) return;
  n.dropped = 0;
  if (whole && how == MP_NATIVE_ANEW) {
    mp_counts_restart(&n.counts);
    mp_held_free(&n.kept);
    n.began = mp_clock_wall();
    n.taken = 0;
    return;
  }
  n.port->epoch = 0;
  n.capture = NULL;
  n.last = NULL;
}

/* -- For the report ------------------------------------------------------ */

void mp_native_forget(const mp_capture *c)
{
  if (n.last != c || n.capture == c || !lock()) return;
  clear();
  unlock();
}

/* A copy of the records, with one of this moment; none: no memory. */
static void copy_records(mp_held *to)
{
  size_t size;
  mp_held_init(to);
  if (!n.leaks) return;
  record();
  size = n.kept.nentries * sizeof(*to->entries);
  *to = n.kept;
  to->sums = NULL;
  to->entries = mp_malloc(size + 1);
  if (to->entries != NULL) memcpy(to->entries, n.kept.entries, size);
  else mp_held_init(to);
}

void mp_native_sums_free(mp_native_sums *s)
{
  mp_free(s->rows);
  mp_held_free(&s->kept);
}

bool mp_native_sum(const mp_capture *c, mp_native_sums *s)
{
  size_t size;
  if (n.last != c) return false;
  if (!lock()) return false;
  copy_records(&s->kept);
  size = ((size_t)n.counts.nrows + 1) * sizeof(*s->rows);
  s->rows = mp_malloc(size);
  if (s->rows != NULL && n.counts.nrows > 0)
    memcpy(s->rows, n.counts.rows, size);
  s->n = n.counts.nrows;
  s->taken = n.taken;
  s->dropped = n.dropped;
  s->live = mp_live_count(&n.live);
  s->period = n.period.mean;
  s->adaptive = n.period.adaptive;
  unlock();
  if (s->rows == NULL) mp_native_sums_free(s);
  return s->rows != NULL;
}

/* -- Blocks -------------------------------------------------------------- */

typedef struct listing {
  mp_native_block *list;
  uint32_t n, room;
} listing;

static void list_block(void *data, const void *addr, uint32_t id)
{
  listing *l = data;
  const mp_sample *s = &n.samples.list[id];
  if (l->n < l->room && id <= n.samples.count)
    l->list[l->n++] = (mp_native_block){ ~(uintptr_t)addr, s->size, s->objects,
					 s->row };
}

/* Under the lock, where this thread must free nothing: a free would wait for
** the lock. */
static void list_all(listing *l)
{
  l->room = (uint32_t)mp_live_count(&n.live);
  l->list = mp_malloc(((size_t)l->room + 1) * sizeof(*l->list));
  if (l->list != NULL) mp_live_each(&n.live, list_block, l);
}

static const void *place_of_block(const mp_native_block *b)
{
  return (const void *)(mp_native_at(b) & ~(uintptr_t)7);
}

static bool number(const listing *l, mp_places *p)
{
  uint32_t i;
  for (i = 0; i < l->n; i++)
    if (!mp_places_add(p, place_of_block(&l->list[i]))) return false;
  return mp_places_close(p);
}

/* Puts them in order, in a list of its own. No memory: there is none. */
static void sort(listing *l)
{
  mp_places p = MP_PLACES_EMPTY;
  mp_native_block *list = NULL;
  uint32_t i;
  if (number(l, &p)) list = mp_calloc((size_t)l->n + 1, sizeof(*list));
  for (i = 0; list != NULL && i < l->n; i++)
    list[mp_places_find(&p, place_of_block(&l->list[i])) - 1] = l->list[i];
  l->n = p.count;
  mp_places_free(&p);
  mp_free(l->list);
  l->list = list;
}

mp_native_block *mp_native_blocks(const mp_capture *c, uint32_t *count,
				  const char **why)
{
  listing l = { NULL, 0, 0 };
  *why = NULL;
  *count = 0;
  if (!mp_native_has(c) || !lock()) {
    *why = "another thread was busy with it";
    return NULL;
  }
  mp_port_pause();
  list_all(&l);
  unlock();
  mp_port_resume();
  if (l.list != NULL) sort(&l);
  *count = l.n;
  return l.list;
}
