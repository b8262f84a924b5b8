/*
** The allocation sampler: a lua_Alloc around the VM's own.
**
** All memory of a Lua VM passes here, from the interpreter, from compiled
** code, from C functions and from the collector. An allocation that is not
** sampled costs a subtraction; a free, a look into a table that says "not
** sampled" at once. Nothing here raises an error, calls into the VM or takes
** memory from it.
**
** The stack is captured before the allocation is made: making it may move
** the very stack that is looked at. Where the VM's layout is not known the
** stack cannot be captured here; the sample waits for the next safepoint,
** which the signal of the profiling timer brings about.
*/
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "profile/ctx.h"
#include "data/mem.h"

#define ROW_LOST UINT32_MAX	/* No memory for the row of a sample. */

/* -- Sample records ------------------------------------------------------ */

/* Number of a fresh record, or 0: no memory. */
static uint32_t sample_new(mp_ctx *c)
{
  uint32_t id = c->freesample;
  if (id != 0) {
    c->freesample = c->samples[id].next;
    return id;
  }
  id = c->nsamples + 1;
  if (!mp_mem_room((void **)&c->samples, id, &c->capsamples,
		   sizeof(*c->samples)))
    return 0;
  return c->nsamples = id;
}

static void sample_free(mp_ctx *c, uint32_t id)
{
  c->samples[id].size = 0;
  c->samples[id].next = c->freesample;
  c->freesample = id;
}

/* -- Counting ------------------------------------------------------------ */

/* The next collection took it: it need not have been made. */
static void count_temporary(mp_ctx *c, const mp_sample *s)
{
  mp_row *r = &c->counts.rows[s->row];
  r->temp_objects += s->objects;
  r->temp_bytes += s->objects * (double)s->size;
}

/* An object that `live` knows by this id was freed. Returns its row, or 0. */
static uint32_t forget_sample(mp_ctx *c, uint32_t id, size_t size)
{
  mp_sample *s;
  uint32_t row;
  if (c->direct) {
    mp_counts_freed(&c->counts, id, 1, size);
    return id;
  }
  s = &c->samples[id];
  row = s->row;
  if (row == 0) {  /* Waits for its stack: it is counted and freed there. */
    s->freed = 1;
    return 0;
  }
  if (row != ROW_LOST) {
    mp_counts_freed(&c->counts, row, s->objects, s->size);
    if (c->vm.proved && c->cycles - s->cycle <= 1) count_temporary(c, s);
  }
  sample_free(c, id);
  return row != ROW_LOST ? row : 0;
}

/* A sample without a record: lost, and said so in the report. */
static void drop(mp_ctx *c)
{
  c->dropped++;
}

/* The object's cell in `live` held `old`, or could not be made. False: the
** object is lost. */
static __attribute__((noinline)) bool collide(mp_ctx *c, uint32_t old,
					      uint32_t id, size_t size)
{
  if (old == MP_LIVE_NOMEM) forget_sample(c, id, size);
  /* Two objects in one cell: the older one's size is not known. */
  else if (!c->direct) forget_sample(c, old, 0);
  drop(c);
  return old != MP_LIVE_NOMEM;
}

/* Makes the sampled object known by its address. False: it is lost. */
static inline bool remember(mp_ctx *c, void *p, uint32_t id, size_t size)
{
  uint32_t old = mp_live_put(&c->live, p, id);
  return old == 0 || collide(c, old, id, size);
}

/* -- Types --------------------------------------------------------------- */

/* A block's type is known now: it moves to the row with that type. */
static void set_type(mp_ctx *c, void *block, uint32_t id, size_t size,
		     mp_type type)
{
  uint32_t from = c->direct ? id : c->samples[id].row, to;
  double objects = c->direct ? 1 : c->samples[id].objects;
  mp_row *r;
  if (type == MP_TYPE_UNKNOWN || from == 0 || from == ROW_LOST) return;
  r = &c->counts.rows[from];
  to = mp_counts_row(&c->counts, r->stack, r->zone, r->state, (uint8_t)type);
  if (to == 0) return;
  mp_counts_move(&c->counts, from, to, objects, size);
  if (c->asked.counted && !mp_events_move(&c->events, from, to,
					  c->asked.origin, size,
					  c->asked.size))
    drop(c);
  if (c->direct) mp_live_put(&c->live, block, to);
  else c->samples[id].row = to;
}

/* Looks again at the block whose type was not known; gone: for the last time,
** because it is about to be freed. */
static void look(mp_ctx *c, bool gone)
{
  mp_unknown u = c->types.unknown;
  mp_type type;
  if (mp_type_look(&c->types, &c->vm, gone, &type))
    set_type(c, u.block, u.id, u.size, type);
}

/* Asks for the type of a block that was just allocated. */
static inline void ask(mp_ctx *c, mp_site *site, void *p, size_t size,
		       uint32_t id)
{
  if (!mp_type_wanted(site, size) || c->types.unknown.block != NULL) return;
  mp_type_ask(&c->types, site, p, size, id);
  c->asked = c->last;
}

/* -- Frees --------------------------------------------------------------- */

/* The heap is highest just before something is freed: its total has been
** lowered by now. */
static inline bool heap_changed(const mp_ctx *c, size_t osize)
{
  return *mp_vm_total(&c->vm) + osize > c->peak ||
	 mp_vm_white(&c->vm) != c->white;
}

static void new_peak(mp_ctx *c, size_t n)
{
  c->peak = n;
  mp_counts_peak(&c->counts);
}

static void watch_heap(mp_ctx *c, size_t osize)
{
  size_t before = *mp_vm_total(&c->vm) + osize;
  if (before > c->peak) new_peak(c, before);
  if (mp_vm_white(&c->vm) != c->white) {
    c->white = mp_vm_white(&c->vm);
    c->cycles++;
    mp_capture_collected(&c->capture);
    mp_point_take(c, false);
  }
}

/* Forgets a block, which need not have been sampled. Returns the row that had
** allocated it, or 0. */
static uint32_t forget_block(mp_ctx *c, void *ptr, size_t osize)
{
  uint32_t id;
  if (ptr == c->types.unknown.block && ptr != NULL) look(c, true);
  id = mp_live_take(&c->live, ptr);
  return id != 0 ? forget_sample(c, id, osize) : 0;
}

static void count_event(mp_ctx *c, mp_eventkind kind, uint32_t at,
			uint32_t origin, size_t nsize, size_t osize)
{
  if (!mp_events_add(&c->events, kind, at, origin, nsize, osize)) drop(c);
}

/* What there is to do before any block is freed that may be code or a thread. */
static inline void freeing(mp_ctx *c, void *ptr, size_t osize)
{
  if (c->vm.proved && heap_changed(c, osize)) watch_heap(c, osize);
  if (osize >= MP_VM_LARGE && c->vm.proved && mp_vm_watched(ptr)) {
    mp_vm_freeing(&c->vm, ptr);
    if (mp_vm_iscode(ptr, osize)) mp_capture_forget(&c->capture);
  }
  c->frees++;
}

static __attribute__((noinline)) void *free_slowly(mp_ctx *c, void *ptr,
						   size_t osize)
{
  uint32_t origin;
  freeing(c, ptr, osize);
  origin = forget_block(c, ptr, osize);
  if (c->wants_events)
    count_event(c, MP_FREE, mp_capture_freeing(&c->capture), origin, 0, osize);
  return c->allocf(c->allocd, ptr, osize, 0);
}

/* The same where ids are rows. */
static __attribute__((noinline)) void *free_exactly(mp_ctx *c, void *ptr,
						    size_t osize)
{
  uint32_t row;
  freeing(c, ptr, osize);
  if (ptr == c->types.unknown.block) look(c, true);
  row = mp_live_find(&c->live, ptr);
  if (row != 0) mp_counts_freed(&c->counts, row, 1, osize);
  return c->allocf(c->allocd, ptr, osize, 0);
}

/* -- Allocations --------------------------------------------------------- */

/* A block of `osize` bytes became one of `nsize`. */
static void count_realloc(mp_ctx *c, size_t osize, size_t nsize)
{
  c->frees++;
  c->reallocs++;
  c->realloc_bytes += nsize;
  c->realloc_freed += osize;
}

/* Makes the allocation itself. at: its row, for a reallocation's event. */
static void *call(mp_ctx *c, void *ptr, size_t osize, size_t nsize,
		  uint32_t at)
{
  uint32_t origin;
  void *p;
  c->last.counted = false;
  if (ptr == NULL) return c->allocf(c->allocd, NULL, 0, nsize);
  if (c->vm.proved) watch_heap(c, 0);
  if (ptr == c->types.unknown.block) look(c, true);
  p = c->allocf(c->allocd, ptr, osize, nsize);
  if (p == NULL) return NULL;
  count_realloc(c, osize, nsize);
  origin = forget_block(c, ptr, osize);
  c->last = (mp_moved){ c->wants_events, origin, osize };
  if (c->wants_events && !c->frozen)
    count_event(c, MP_REALLOC, at, origin, nsize, osize);
  return p;
}

/* The bytes until the next sample, without those that are held back. */
static void draw(mp_ctx *c)
{
  uint64_t here = mp_alloc_bytes(c);
  c->left = mp_period_next(&c->period, here);
  c->held = 0;
  c->drawn = here + (uint64_t)c->left;
}

/* While the type of a block is not known the next allocation must come by the
** slow path: nearly all that is left until the next sample is held back. */
static void hold(mp_ctx *c)
{
  if (c->types.unknown.block == NULL || c->left <= 1) return;
  c->held = c->left - 1;
  c->left = 1;
}

static void unhold(mp_ctx *c)
{
  c->left += c->held;
  c->held = 0;
}

/* The sample waits for its stack. */
static void wait_for_safepoint(mp_ctx *c, uint32_t id)
{
  bool first = c->waiting == 0;
  c->samples[id].next = c->waiting;
  c->waiting = id;
  if (first && c->timer) {
    c->raised++;
    raise(SIGPROF);
  }
}

/* The allocation under way is a sample; `left` is what it left over. */
static void *sample_weighted(mp_ctx *c, void *ptr, size_t osize, size_t nsize,
			     mp_site *site)
{
  double objects = mp_period_weight(&c->period, nsize);
  uint32_t row = c->vm.proved ? mp_capture_running(&c->capture, site ? site->type : 0) : 0;
  uint32_t id;
  void *p = call(c, ptr, osize, nsize, row);
  if (p == NULL) {
    c->left += (int64_t)nsize;
    return NULL;
  }
  draw(c);
  c->allocs++;
  c->heap_samples++;
  if (c->vm.proved) watch_heap(c, 0);
  else mp_alloc_inuse(c);
  if (!c->exact) mp_point_take(c, false);
  id = c->vm.proved && row == 0 ? 0 : sample_new(c);
  if (id == 0) {
    drop(c);
    return p;
  }
  c->samples[id] = (mp_sample){
    .objects = objects, .size = nsize, .row = row, .birth = c->now,
    .cycle = (uint32_t)c->cycles & INT32_MAX
  };
  if (row != 0) mp_counts_alloc(&c->counts, row, objects, nsize);
  else wait_for_safepoint(c, id);
  if (remember(c, p, id, nsize)) ask(c, site, p, nsize, id);
  return p;
}

/* The allocation under way is no sample. */
static void *unsampled(mp_ctx *c, void *ptr, size_t osize, size_t nsize)
{
  void *p = call(c, ptr, osize, nsize, 0);
  if (p == NULL) c->left += (int64_t)nsize;
  else c->allocs++;
  return p;
}

/* The same for a reallocation, mostly of a block that was no sample. */
static __attribute__((noinline)) void *move_block(mp_ctx *c, void *ptr,
						  size_t osize, size_t nsize)
{
  void *p;
  if (mp_live_may(&c->live, ptr) || !c->vm.proved || heap_changed(c, 0))
    return unsampled(c, ptr, osize, nsize);
  p = c->allocf(c->allocd, ptr, osize, nsize);
  if (p == NULL) {
    c->left += (int64_t)nsize;
    return NULL;
  }
  c->allocs++;
  count_realloc(c, osize, nsize);
  return p;
}

/* Of the allocator's caller, for mp_type_site. */
#define RET	__builtin_return_address(0)
#define FRAME	(const char *)__builtin_dwarf_cfa()

static __attribute__((noinline)) void *alloc_slowly(mp_ctx *c, void *ptr,
						    size_t osize,
						    size_t nsize,
						    const void *ret,
						    const char *frame)
{
  void *p;
  unhold(c);
  if (c->types.unknown.block != NULL) look(c, false);
  if (c->left <= 0) {
    p = sample_weighted(c, ptr, osize, nsize,
			mp_type_site(&c->types, ret, frame));
  } else {
    p = unsampled(c, ptr, osize, nsize);
  }
  hold(c);
  return p;
}

/* The hook while sampling. What it does for each allocation and each free is
** what every program pays. */
static void *hook_sampling(void *ud, void *ptr, size_t osize, size_t nsize)
{
  mp_ctx *c = ud;
  if (nsize != 0) {
    if ((c->left -= (int64_t)nsize) <= 0)
      return alloc_slowly(c, ptr, osize, nsize, RET, FRAME);
    if (ptr != NULL) return move_block(c, ptr, osize, nsize);
    c->allocs++;
    return c->allocf(c->allocd, NULL, 0, nsize);
  }
  if (ptr == NULL) return NULL;
  if ((osize >= MP_VM_LARGE && mp_vm_watched(ptr)) ||
      mp_live_may(&c->live, ptr) || heap_changed(c, osize))
    return free_slowly(c, ptr, osize);
  c->frees++;
  return c->allocf(c->allocd, ptr, osize, 0);
}

/* The same where the VM cannot be looked into. */
static void *hook_blind(void *ud, void *ptr, size_t osize, size_t nsize)
{
  if (nsize != 0 || ptr == NULL) return hook_sampling(ud, ptr, osize, nsize);
  return free_slowly(ud, ptr, osize);
}

static __attribute__((noinline)) void *alloc_exactly(mp_ctx *c, void *ptr,
						     size_t osize,
						     size_t nsize,
						     const void *ret,
						     const char *frame)
{
  mp_site *site;
  uint32_t row;
  void *p;
  if (c->types.unknown.block != NULL) look(c, false);
  site = mp_type_site(&c->types, ret, frame);
  row = mp_capture_running(&c->capture, site ? site->type : 0);
  if (ptr == NULL) p = c->allocf(c->allocd, NULL, 0, nsize);
  else p = call(c, ptr, osize, nsize, row);
  if (p == NULL) return NULL;
  c->left -= (int64_t)nsize;
  c->allocs++;
  c->heap_samples++;
  if (row == 0) {
    drop(c);
  } else {
    mp_counts_alloc(&c->counts, row, 1, nsize);
    if (remember(c, p, row, nsize)) ask(c, site, p, nsize, row);
  }
  return p;
}

/* The same for what is the profiler's own. */
static __attribute__((noinline)) void *alloc_frozen(mp_ctx *c, void *ptr,
						    size_t osize,
						    size_t nsize)
{
  void *p = call(c, ptr, osize, nsize, 0);
  if (p != NULL) c->left -= (int64_t)nsize;
  return p;
}

/* The hook where every allocation is a sample, its stack is at hand, and an
** object need not be known by more than its row. */
static void *hook_exact(void *ud, void *ptr, size_t osize, size_t nsize)
{
  mp_ctx *c = ud;
  if (nsize == 0) return ptr ? free_exactly(c, ptr, osize) : NULL;
  if (c->frozen) return alloc_frozen(c, ptr, osize, nsize);
  return alloc_exactly(c, ptr, osize, nsize, RET, FRAME);
}

/* -- The profiler's own memory ------------------------------------------- */

#define FAR	((int64_t)1 << 60)	/* No sample until there. */

void mp_alloc_freeze(mp_ctx *c)
{
  c->thaw_left = c->left + c->held;
  c->thaw_allocs = c->allocs;
  c->thaw_reallocs = c->reallocs;
  c->thaw_bytes = c->realloc_bytes;
  c->thaw_freed = c->realloc_freed;
  c->thaw_inuse = mp_alloc_inuse(c);
  c->frozen = true;
  c->left = FAR;
  c->held = 0;
}

void mp_alloc_thaw(mp_ctx *c)
{
  c->frozen = false;
  /* What was allocated counts as if it had always been there; what was freed
  ** was counted. */
  c->inuse0 += (uint64_t)(FAR - c->left) - (c->realloc_freed - c->thaw_freed);
  c->reallocs = c->thaw_reallocs;
  c->realloc_bytes = c->thaw_bytes;
  c->realloc_freed = c->thaw_freed;
  c->left = c->thaw_left;
  c->allocs = c->thaw_allocs;
  mp_alloc_inuse(c);
  hold(c);
}

void mp_alloc_retire(mp_ctx *c)
{
  if (!c->frozen) mp_alloc_freeze(c);
  c->wants_events = false;
  c->types.unknown.block = NULL;
}

/* -- Start, stop, safepoint ---------------------------------------------- */

void mp_alloc_safepoint(mp_ctx *c, lua_State *L, int state)
{
  uint32_t id = c->waiting, next, row;
  if (id == 0) return;
  c->waiting = 0;
  row = mp_capture_row(&c->capture, L, state);
  for (; id != 0; id = next) {
    mp_sample *s = &c->samples[id];
    next = s->next;
    s->row = row;
    if (row != 0) {
      mp_counts_alloc(&c->counts, row, s->objects, s->size);
    } else {
      s->row = ROW_LOST;
      drop(c);
    }
    if (s->freed) forget_sample(c, id, s->size);
  }
}

uint64_t mp_alloc_bytes(const mp_ctx *c)
{
  int64_t left = c->frozen ? c->thaw_left : c->left + c->held;
  return (uint64_t)((int64_t)c->drawn - left);
}

uint64_t mp_alloc_count(const mp_ctx *c)
{
  return c->frozen ? c->thaw_allocs : c->allocs;
}

size_t mp_alloc_inuse(mp_ctx *c)
{
  size_t n;
  if (c->frozen) return c->thaw_inuse;
  n = (size_t)lua_gc(c->anchor, LUA_GCCOUNT, 0) * 1024 +
      (size_t)lua_gc(c->anchor, LUA_GCCOUNTB, 0);
  if (n > c->peak) new_peak(c, n);
  return n;
}

void mp_alloc_restart(mp_ctx *c)
{
  c->drawn = (uint64_t)(c->left + c->held);
  c->allocs = c->frees = c->cycles = c->heap_samples = 0;
  c->reallocs = c->realloc_bytes = c->realloc_freed = 0;
  mp_events_free(&c->events);
  c->asked.counted = false;
  c->peak = 0;
  c->inuse0 = mp_alloc_inuse(c);
}

void mp_alloc_start(mp_ctx *c, lua_State *L)
{
  /* For events and leaks an object is more than its row. */
  c->direct = c->exact && c->vm.proved && !c->wants_events && !c->wants_leaks;
  if (c->vm.proved) c->white = mp_vm_white(&c->vm);
  mp_type_init(&c->types, &c->vm);
  draw(c);
  c->inuse0 = mp_alloc_inuse(c);
  c->allocf = lua_getallocf(L, &c->allocd);
  lua_setallocf(L, c->direct ? hook_exact : c->vm.proved ? hook_sampling :
		hook_blind, c);
  c->started = true;
}

void mp_alloc_stop(mp_ctx *c, lua_State *L)
{
  void *ud;
  lua_Alloc f = lua_getallocf(L, &ud);
  /* Somebody put an allocator over ours: it must stay where it is. */
  if (f != hook_exact && f != hook_sampling && f != hook_blind) return;
  if (ud != c) return;
  lua_setallocf(L, c->allocf, c->allocd);
  c->started = false;
}
