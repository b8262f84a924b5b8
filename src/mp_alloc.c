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

#include "mp.h"
#include "mp_mem.h"

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
  if (c->nsamples + 1 >= c->capsamples) {
    uint32_t cap = c->capsamples ? c->capsamples * 2 : 256;
    mp_sample *s = mp_realloc(c->samples, cap * sizeof(*s));
    if (s == NULL) return 0;
    c->samples = s;
    c->capsamples = cap;
  }
  return ++c->nsamples;
}

static void sample_free(mp_ctx *c, uint32_t id)
{
  c->samples[id].next = c->freesample;
  c->freesample = id;
}

/* -- Counting ------------------------------------------------------------ */

static void count_alloc(mp_ctx *c, uint32_t row, double objects, size_t size)
{
  mp_row *r = &c->counts.rows[row];
  r->alloc_objects += objects;
  r->alloc_bytes += objects * (double)size;
  r->inuse_objects += objects;
  r->inuse_bytes += objects * (double)size;
}

static void count_free(mp_ctx *c, uint32_t row, double objects, size_t size)
{
  mp_row *r = &c->counts.rows[row];
  r->inuse_objects -= objects;
  r->inuse_bytes -= objects * (double)size;
}

/* An object that `live` knows by this id was freed. */
static void forget_sample(mp_ctx *c, uint32_t id, size_t size)
{
  mp_sample *s;
  if (c->direct) {
    count_free(c, id, 1, size);
    return;
  }
  s = &c->samples[id];
  if (s->row == 0) {  /* Waits for its stack: it is counted and freed there. */
    s->freed = true;
    return;
  }
  if (s->row != ROW_LOST) count_free(c, s->row, s->objects, s->size);
  sample_free(c, id);
}

/* A sample without a record: lost, and said so in the report. */
static void drop(mp_ctx *c)
{
  c->dropped++;
}

/* Makes the sampled object known by its address. */
static void remember(mp_ctx *c, void *p, uint32_t id, size_t size)
{
  uint32_t old = mp_live_put(&c->live, p, id);
  if (old == 0) return;
  if (old == MP_LIVE_NOMEM) {
    forget_sample(c, id, size);
    drop(c);
  } else {  /* Two objects in one cell: the older one's size is not known. */
    if (!c->direct) forget_sample(c, old, 0);
    drop(c);
  }
}

/* -- Frees --------------------------------------------------------------- */

/* Another profiler of this VM gives back or grows LuaJIT's dump buffer, which
** is ours and which the collector never counted (mp_capture_unlock). */
static void dump_left(mp_ctx *c, size_t osize)
{
  if (c->vm.proved) *mp_vm_total(&c->vm) += osize;
}

/* The heap is highest just before something is freed: its total has been
** lowered by now. */
static inline bool heap_changed(const mp_ctx *c, size_t osize)
{
  return *mp_vm_total(&c->vm) + osize > c->peak ||
	 mp_vm_white(&c->vm) != c->white;
}

static void watch_heap(mp_ctx *c, size_t osize)
{
  size_t before = *mp_vm_total(&c->vm) + osize;
  if (before > c->peak) c->peak = before;
  if (mp_vm_white(&c->vm) != c->white) {
    c->white = mp_vm_white(&c->vm);
    c->cycles++;
  }
}

static void forget_block(mp_ctx *c, void *ptr, size_t osize)
{
  uint32_t id = mp_live_take(&c->live, ptr);
  c->frees++;
  if (id != 0) forget_sample(c, id, osize);
}

/* A free with anything to it: perhaps of a sampled object or of the dump
** buffer, perhaps of code or a thread, which are large. */
static __attribute__((noinline)) void *free_slowly(mp_ctx *c, void *ptr,
						   size_t osize)
{
  if (c->vm.proved) watch_heap(c, osize);
  if (ptr == mp_dump_region) {
    dump_left(c, osize);
    return NULL;
  }
  if (osize >= MP_VM_LARGE && c->vm.proved) {
    mp_vm_freeing(&c->vm, ptr);
    if (mp_vm_iscode(ptr, osize)) mp_capture_forget(c);
  }
  forget_block(c, ptr, osize);
  return c->allocf(c->allocd, ptr, osize, 0);
}

/* -- Allocations --------------------------------------------------------- */

/* Makes the allocation itself. */
static void *call(mp_ctx *c, void *ptr, size_t osize, size_t nsize)
{
  void *p;
  if (ptr != NULL && ptr == mp_dump_region) {
    p = c->allocf(c->allocd, NULL, 0, nsize);
    if (p == NULL) return NULL;
    memcpy(p, ptr, osize < nsize ? osize : nsize);
    dump_left(c, osize);
    ptr = NULL;
  } else {
    if (ptr != NULL && c->vm.proved) watch_heap(c, 0);
    p = c->allocf(c->allocd, ptr, osize, nsize);
    if (p == NULL) return NULL;
  }
  if (ptr != NULL) forget_block(c, ptr, osize);
  return p;
}

/* Draws the distance to the next sample, from here. */
static void draw(mp_ctx *c)
{
  uint64_t here = mp_alloc_bytes(c);
  c->left = mp_period_next(&c->period, here);
  c->drawn = here + (uint64_t)c->left;
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
static __attribute__((noinline)) void *sample_weighted(mp_ctx *c, void *ptr,
						       size_t osize,
						       size_t nsize)
{
  double objects = mp_period_weight(&c->period, nsize);
  uint32_t row = c->vm.proved ? mp_capture_running(c) : 0;
  uint32_t id;
  void *p = call(c, ptr, osize, nsize);
  draw(c);
  if (p == NULL) return NULL;
  c->allocs++;
  c->heap_samples++;
  mp_alloc_inuse(c);
  id = c->vm.proved && row == 0 ? 0 : sample_new(c);
  if (id == 0) {
    drop(c);
    return p;
  }
  c->samples[id] = (mp_sample){ objects, nsize, row, 0, false };
  if (row != 0) count_alloc(c, row, objects, nsize);
  else wait_for_safepoint(c, id);
  remember(c, p, id, nsize);
  return p;
}

static __attribute__((noinline)) void *move_block(mp_ctx *c, void *ptr,
						  size_t osize, size_t nsize)
{
  void *p = call(c, ptr, osize, nsize);
  if (p == NULL) c->left += (int64_t)nsize;
  else c->allocs++;
  return p;
}

/* The hook while sampling. What it does for each allocation and each free is
** what every program pays. */
static void *hook_sampling(void *ud, void *ptr, size_t osize, size_t nsize)
{
  mp_ctx *c = ud;
  if (nsize != 0) {
    if ((c->left -= (int64_t)nsize) <= 0)
      return sample_weighted(c, ptr, osize, nsize);
    if (ptr != NULL) return move_block(c, ptr, osize, nsize);
    c->allocs++;
    return c->allocf(c->allocd, NULL, 0, nsize);
  }
  if (ptr == NULL) return NULL;
  if (osize >= MP_VM_LARGE || mp_live_may(&c->live, ptr) || !c->vm.proved ||
      heap_changed(c, osize))
    return free_slowly(c, ptr, osize);
  c->frees++;
  return c->allocf(c->allocd, ptr, osize, 0);
}

/* The hook where every allocation is a sample and its stack is at hand. */
static void *hook_exact(void *ud, void *ptr, size_t osize, size_t nsize)
{
  mp_ctx *c = ud;
  uint32_t row;
  void *p;
  if (nsize == 0) return ptr ? free_slowly(c, ptr, osize) : NULL;
  row = mp_capture_running(c);
  p = call(c, ptr, osize, nsize);
  if (p == NULL) return NULL;
  c->left -= (int64_t)nsize;
  c->allocs++;
  c->heap_samples++;
  if (row == 0) {
    drop(c);
  } else {
    count_alloc(c, row, 1, nsize);
    remember(c, p, row, nsize);
  }
  return p;
}

/* -- Start, stop, safepoint ---------------------------------------------- */

void mp_alloc_safepoint(mp_ctx *c, lua_State *L, int state)
{
  uint32_t id = c->waiting, next, row;
  if (id == 0) return;
  c->waiting = 0;
  row = mp_capture_row(c, L, state);
  for (; id != 0; id = next) {
    mp_sample *s = &c->samples[id];
    next = s->next;
    s->row = row;
    if (row != 0) {
      count_alloc(c, row, s->objects, s->size);
    } else {
      s->row = ROW_LOST;
      drop(c);
    }
    if (s->freed) forget_sample(c, id, s->size);
  }
}

uint64_t mp_alloc_bytes(const mp_ctx *c)
{
  return (uint64_t)((int64_t)c->drawn - c->left);
}

size_t mp_alloc_inuse(mp_ctx *c)
{
  size_t n = (size_t)lua_gc(c->anchor, LUA_GCCOUNT, 0) * 1024 +
	     (size_t)lua_gc(c->anchor, LUA_GCCOUNTB, 0);
  if (n > c->peak) c->peak = n;
  return n;
}

void mp_alloc_restart(mp_ctx *c)
{
  c->drawn = (uint64_t)c->left;
  c->allocs = c->frees = c->cycles = c->heap_samples = 0;
  c->peak = 0;
  c->inuse0 = mp_alloc_inuse(c);
}

void mp_alloc_start(mp_ctx *c, lua_State *L)
{
  c->direct = c->exact && c->vm.proved;
  if (c->vm.proved) c->white = mp_vm_white(&c->vm);
  draw(c);
  c->inuse0 = mp_alloc_inuse(c);
  c->allocf = lua_getallocf(L, &c->allocd);
  lua_setallocf(L, c->direct ? hook_exact : hook_sampling, c);
  c->started = true;
}

void mp_alloc_stop(mp_ctx *c, lua_State *L)
{
  void *ud;
  lua_Alloc f = lua_getallocf(L, &ud);
  /* Somebody put an allocator over ours: it must stay where it is. */
  if ((f != hook_exact && f != hook_sampling) || ud != c) return;
  lua_setallocf(L, c->allocf, c->allocd);
  c->started = false;
}
