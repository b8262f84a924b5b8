/* SPDX-License-Identifier: MIT */
/*
** The lua_Allocs of the heap sampler: one for each mode.
**
**			hook_sampling	hook_blind	hook_exact
**	allocation,
**	  not a sample	hook itself	hook itself	-
**	  slow path	slow_alloc	slow_alloc	exact_alloc
**	    a sample	sampled_alloc	sampled_alloc	exact_alloc
**	  frozen	hook itself	hook itself	frozen_alloc
**	reallocation	quick_realloc	quick_realloc	as an allocation
**	free,
**	  not sampled	hook itself	sampled_free	exact_free
**	  else		sampled_free	sampled_free	exact_free
**
** hook_sampling takes samples; hook_direct does the same over LuaJIT's own
** allocator, whose functions it calls, and hook_unlimited where nothing limits
** the process's memory; hook_blind does the same if the VM's layout is not
** known; hook_exact is used if every allocation is a sample, its stack can be
** captured, and no object need have a record. hook_telling stands for each of
** them where failures are to be reported, or coroutines are to be known, and
** hook_knowing for hook_direct in the latter case, and hook_noting for
** hook_unlimited. Others may have kept a hook, and call it while another one is
** in use.
**
** The hooks themselves must stay leaf functions, which save no register and
** have no frame: every allocation and every free of the program pays for them.
** That is why everything else is out of line (noinline).
*/
#include "config.h"

#include "data/limit.h"
#include "data/probe.h"
#include "sample/hook.h"
#include "sample/objects.h"

/* -- Watching the heap --------------------------------------------------- */

/* Whether mp_alloc_watch would find anything. */
static inline bool heap_changed(const mp_alloc *h, size_t osize)
{
  return *mp_vm_total(&h->vm) + osize > h->peak ||
	 mp_vm_white(&h->vm) != h->white;
}

static void count_event(mp_alloc *h, mp_eventkind kind, uint32_t at,
			uint32_t origin, size_t nsize, size_t osize)
{
  if (!mp_events_add(&h->events, kind, at, origin, nsize, osize)) h->dropped++;
}

/* Counts a free. What the collector frees needs no counting: it is all that
** others do not free (profile/snapshot.h). */
static void count_free(mp_alloc *h, uint32_t origin, size_t osize)
{
  uint32_t at = mp_capture_freeing(h->capture);
  if (origin == 0 || at == 0 || at != h->capture->gcrow)
    count_event(h, MP_FREE, at, origin, 0, osize);
}

/* The hook of a profile that has ended. */
static void *pass_on(mp_alloc *h, void *ptr, size_t osize, size_t nsize)
{
  return h->allocf(h->allocd, ptr, osize, nsize);
}

/* -- Frees --------------------------------------------------------------- */

/* A block is about to be freed that may be a coroutine that we need. */
static inline void look_after_own(mp_alloc *h, const void *ptr)
{
  const mp_capture *c = h->capture;
  if (c->anchor != NULL && (ptr == c->anchor || ptr == c->mate))
    mp_alloc_lose(h);
}

/* The same where the VM's layout is not known. */
static void free_unproved(mp_alloc *h, const void *ptr)
{
  look_after_own(h, ptr);
  mp_labels_freed(&h->capture->labels, ptr);
}

/* A block is about to be freed that may be code or a thread. */
static __attribute__((noinline)) void free_large(mp_alloc *h, void *ptr,
						 size_t osize)
{
  if (!mp_vm_watched(ptr)) return;
  look_after_own(h, ptr);
  mp_vm_freeing(&h->vm, ptr);
  if (mp_vm_iscode(ptr, osize)) mp_capture_forget(h->capture, ptr, osize);
}

/* To be called before each free where the VM's layout is known. */
static inline void before_free(mp_alloc *h, void *ptr, size_t osize)
{
  if (heap_changed(h, osize)) mp_alloc_watch(h, osize);
  if (osize >= MP_VM_LARGE) free_large(h, ptr, osize);
}

static __attribute__((noinline)) void *sampled_free(mp_alloc *h, void *ptr,
						    size_t osize)
{
  uint32_t origin;
  if (h->retired) return pass_on(h, ptr, osize, 0);
  if (h->vm.proved) before_free(h, ptr, osize);
  else free_unproved(h, ptr);
  h->frees++;
  origin = mp_objects_freed(h, ptr, osize);
  if (h->wants.events) count_free(h, origin, osize);
  return h->allocf(h->allocd, ptr, osize, 0);
}

static __attribute__((noinline)) void *exact_free(mp_alloc *h, void *ptr,
						  size_t osize)
{
  uint32_t origin;
  if (!h->rows_only) return sampled_free(h, ptr, osize);
  before_free(h, ptr, osize);
  h->frees++;
  if (ptr == h->types.unknown.block) mp_objects_look_last(h);
  origin = mp_objects_forget_row(h, ptr, osize);
  if (h->wants.events) count_free(h, origin, osize);
  return h->allocf(h->allocd, ptr, osize, 0);
}

/* -- Allocations --------------------------------------------------------- */

/* The VM's allocator has no memory: the VM will raise an error. */
static __attribute__((noinline)) void *no_memory(mp_alloc *h)
{
  if (h->vm.proved) mp_vm_refused(&h->vm);
  return NULL;
}

/* Allocations that are no samples. */
static __attribute__((noinline)) void *make_direct(mp_alloc *h, size_t nsize)
{
  void *p = h->direct.make(h->allocd, nsize);
  return __builtin_expect(p != NULL, true) ? p : no_memory(h);
}

static __attribute__((noinline)) void *make(mp_alloc *h, size_t nsize)
{
  void *p = h->allocf(h->allocd, NULL, 0, nsize);
  return __builtin_expect(p != NULL, true) ? p : no_memory(h);
}

/* Makes an allocation whose size was subtracted from the countdown; adds the
** size again if the allocation fails. */
static inline void *allocate(mp_alloc *h, void *ptr, size_t osize, size_t nsize)
{
  size_t room = nsize + (h->tagged ? MP_TAGS_EXTRA : 0);
  void *p = h->allocf(h->allocd, ptr, osize, room);
  if (p == NULL) {
    h->now.countdown += (int64_t)nsize;
    return no_memory(h);
  }
  h->now.allocs++;
  return p;
}

/* A block of osize bytes became one of nsize. */
static void count_realloc(mp_alloc *h, size_t osize, size_t nsize)
{
  if (h->frozen) {  /* As if the block had never been there. */
    h->now.countdown += (int64_t)osize;
    return;
  }
  h->frees++;
  h->reallocs++;
  h->realloc_bytes += nsize;
  h->realloc_freed += osize;
}

/* Makes a reallocation, and forgets the old block. Its tag is taken before, as
** the block may move. at: the row of the allocation, for the event. */
static __attribute__((noinline)) void *allocate_again(mp_alloc *h, void *ptr,
						      size_t osize,
						      size_t nsize,
						      uint32_t at)
{
  mp_tag tag = { 0, 0 };
  uint32_t origin;
  void *p;
  if (h->vm.proved) mp_alloc_watch(h, 0);
  if (ptr == h->types.unknown.block) mp_objects_look_last(h);
  if (h->tagged) tag = mp_tags_take(&h->tags, ptr, osize);
  p = allocate(h, ptr, osize, nsize);
  if (p == NULL) {
    if (tag.id != 0) mp_tags_put(&h->tags, ptr, osize, tag);
    return NULL;
  }
  count_realloc(h, osize, nsize);
  origin = h->tagged ? mp_objects_forget_tag(h, tag, osize) :
	   mp_objects_freed(h, ptr, osize);
  if (h->tagged && origin != 0) mp_probe_free(ptr);
  h->last = (mp_moved){ h->wants.events, origin, osize };
  if (!h->wants.events) return p;
  if (!h->frozen) count_event(h, MP_REALLOC, at, origin, nsize, osize);
  else if (origin != 0) mp_counts_lost(h->capture->counts, origin, osize);
  return p;
}

/* Makes an allocation or a reallocation. */
static inline void *allocate_any(mp_alloc *h, void *ptr, size_t osize,
				 size_t nsize, uint32_t at)
{
  h->last.counted = false;
  return ptr == NULL ? allocate(h, NULL, 0, nsize) :
	 allocate_again(h, ptr, osize, nsize, at);
}

/* The sample waits for its stack. */
static void wait_for_safepoint(mp_alloc *h, uint32_t id)
{
  bool first = h->samples.waiting == 0;
  h->samples.list[id].waiting = 1;
  h->samples.list[id].next = h->samples.waiting;
  h->samples.waiting = id;
  if (first && h->cpu->has_timer) mp_cpu_ask(h->cpu);
}

/* Counts bytes for the trace that runs, if any does. */
static inline void count_in_trace(mp_alloc *h, double bytes)
{
#ifdef MP_LAYOUT
  double *by = h->capture->in_trace;
  int32_t n = by != NULL && h->vm.proved ? mp_vm_state(&h->vm) : 0;
  if (n > 0 && n <= UINT16_MAX) by[n] += bytes;
#else
  (void)h; (void)bytes;
#endif
}

/* Makes a record of the sample and counts it. 0: it is lost. */
static uint32_t record_sample(mp_alloc *h, double objects, size_t size,
			      uint32_t row)
{
  uint32_t id = h->vm.proved && row == 0 ? 0 : mp_samples_new(&h->samples);
  if (id == 0) {
    h->dropped++;
    return 0;
  }
  h->samples.list[id] = (mp_sample){
    .objects = objects, .size = size, .row = row,
    .birth = (uint64_t)(h->seconds * 1000), .cycle = (uint32_t)h->cycles
  };
  count_in_trace(h, objects * (double)size);
  if (row != 0) mp_counts_alloc(h->capture->counts, row, objects, size);
  else wait_for_safepoint(h, id);
  return id;
}

/* Cost in seconds of the safepoint that a sample waits for. */
#define SAFEPOINT_COST	20e-6

/* The type that a row has for the blocks of a place. */
static inline uint8_t type_of(const mp_alloc *h, const mp_site *site)
{
  return mp_capture_type(h->capture, mp_type_of(site));
}

/* The row of the allocation under way; 0: not known yet. Some captures are
** timed. */
static uint32_t timed_capture(mp_alloc *h, const mp_site *site)
{
  double begun;
  uint32_t row;
  if (!h->vm.proved) {
    mp_period_took(&h->period, SAFEPOINT_COST);
    return 0;
  }
  begun = mp_period_begin(&h->period);
  row = mp_capture_running(h->capture, type_of(h, site));
  mp_period_end(&h->period, begun);
  if (mp_capture_missed(h->capture)) mp_cpu_count_missed(h->cpu, row);
  return row;
}

/* The countdown has run out: the next sample is here. */
static void *sampled_alloc(mp_alloc *h, void *ptr, size_t osize, size_t nsize,
			   mp_site *site)
{
  double objects = h->exact ? 1 : mp_period_weight(h->period.mean, nsize);
  uint32_t row = timed_capture(h, site), id;
  void *p;
  /* Afterwards no row has the block that is being moved. */
  if (!h->exact) h->owner.tick(h->owner.data, false);
  p = allocate_any(h, ptr, osize, nsize, row);
  if (p == NULL) return NULL;
  if (h->exact) mp_alloc_draw_nothing(h);
  else mp_alloc_draw_distance(h);
  h->taken++;
  if (h->vm.proved) mp_alloc_watch(h, 0);
  else mp_alloc_inuse(h);
  id = record_sample(h, objects, nsize, row);
  if (id != 0) {
    mp_objects_count_type(h, site, row, nsize);
    mp_probe_alloc(p, nsize, objects * (double)nsize);
  }
  if (id != 0 && mp_objects_remember(h, p, id, nsize))
    mp_objects_ask_type(h, site, p, nsize, id);
  return p;
}

/* The return address of the allocator, for mp_type_site. */
#define RET	__builtin_return_address(0)
#define FRAME	(const char *)__builtin_dwarf_cfa()

/* The row of an allocation where every one is a sample. The blocks that an
** object consists of are allocated one after the other, by one function: the
** stack is captured for the first of them. */
static inline uint32_t exact_row(mp_alloc *h, const mp_site *site)
{
  uint8_t type = type_of(h, site);
  uint32_t row;
  if (site != NULL && mp_type_ispart(site, h->whole.function))
    return mp_capture_part(h->capture, h->whole.row, type);
  row = mp_capture_quick(h->capture, type);
  if (mp_capture_missed(h->capture)) mp_cpu_count_missed(h->cpu, row);
  h->whole.function = row != 0 ? mp_type_maker(site) : NULL;
  h->whole.row = row;
  return row;
}

static inline void *exact_alloc(mp_alloc *h, void *ptr, size_t osize,
				size_t nsize, const void *ret,
				const char *frame)
{
  mp_site *site;
  uint32_t row;
  void *p;
  mp_objects_look(h);
  mp_vm_called(&h->vm, ret, frame);
  site = mp_type_site(&h->types, ret, frame);
  row = exact_row(h, site);
  p = allocate_any(h, ptr, osize, nsize, row);
  if (p == NULL) return NULL;
  h->taken++;
  if (row == 0) {
    h->dropped++;
    return p;
  }
  mp_counts_alloc(h->capture->counts, row, 1, nsize);
  count_in_trace(h, (double)nsize);
  mp_objects_count_type(h, site, row, nsize);
  mp_probe_alloc(p, nsize, (double)nsize);
  if (mp_objects_remember_row(h, p, row, nsize))
    mp_objects_ask_type(h, site, p, nsize, row);
  return p;
}

/* The kept hook of a profile of another kind may come here, too. */
static __attribute__((noinline)) void *slow_alloc(mp_alloc *h, void *ptr,
						  size_t osize, size_t nsize,
						  const void *ret,
						  const char *frame)
{
  void *p;
  if (h->retired) return pass_on(h, ptr, osize, nsize);
  if (h->rows_only) return exact_alloc(h, ptr, osize, nsize, ret, frame);
  mp_alloc_unhold(h);
  if (h->coroutines != NULL) mp_coroutines_born(h->coroutines);
  mp_objects_look(h);
  if (h->now.countdown < 0)
    p = sampled_alloc(h, ptr, osize, nsize,
		      mp_type_site(&h->types, ret, frame));
  else
    p = allocate_any(h, ptr, osize, nsize, 0);
  mp_alloc_hold(h);
  return p;
}

/* A reallocation, mostly one that is not a sample, of a block that was none
** either. */
static __attribute__((noinline)) void *quick_realloc(mp_alloc *h, void *ptr,
						     size_t osize,
						     size_t nsize,
						     const void *ret,
						     const char *frame)
{
  void *p;
  if ((h->now.countdown -= (int64_t)nsize) < 0)
    return slow_alloc(h, ptr, osize, nsize, ret, frame);
  if (h->retired) return pass_on(h, ptr, osize, nsize);
  if (mp_live_may(&h->live, ptr) || !h->vm.proved || heap_changed(h, 0))
    return allocate_any(h, ptr, osize, nsize, 0);
  p = allocate(h, ptr, osize, nsize);
  if (p != NULL) count_realloc(h, osize, nsize);
  return p;
}

static __attribute__((noinline)) void *frozen_alloc(mp_alloc *h, void *ptr,
						    size_t osize,
						    size_t nsize)
{
  if (h->retired) return pass_on(h, ptr, osize, nsize);
  return allocate_any(h, ptr, osize, nsize, 0);
}

/* -- The hooks ----------------------------------------------------------- */

/* Whether a block that is about to be freed needs a look, or the heap. The
** header of a large block is read before it is freed: threads, prototypes and
** traces are watched, and no smaller block can be one of these. The heap rests
** while nothing is allocated, as between two frees of a sweep: its total only
** falls, and none but a collection on demand can begin its sweep. That one is
** noticed by the next sample, or the next free after an allocation. */
static inline bool free_matters(mp_alloc *h, const void *ptr, size_t osize)
{
  if ((osize >= MP_VM_LARGE && mp_vm_watched(ptr)) ||
      mp_live_may(&h->live, ptr))
    return true;
  if (h->watched == h->now.allocs) return false;
  if (heap_changed(h, osize)) return true;
  h->watched = h->now.allocs;
  return false;
}

/* A hook calls one of these. */
typedef enum callee {
  ALLOCATOR,			/* The allocator. */
  DIRECT,			/* Its functions: it would choose once more. */
  UNLIMITED			/* They get the memory that they ask for. */
} callee;

/* Arguments are passed on as they are, which costs nothing. A fresh allocation
** that fails is counted all the same: the program is out of memory. ret: NULL:
** the hook's own, which is read where it is needed. */
static inline __attribute__((always_inline)) void *
sampling(mp_alloc *h, void *ptr, size_t osize, size_t nsize, callee called,
	 const void *ret, const char *frame)
{
  if (nsize == 0) {
    if (free_matters(h, ptr, osize)) return sampled_free(h, ptr, osize);
    h->frees += ptr != NULL;
    if (called != ALLOCATOR) return h->direct.release(h->allocd, ptr);
  } else if (ptr == NULL) {
    if ((h->now.countdown -= (int64_t)nsize) < 0)
      return slow_alloc(h, NULL, 0, nsize, ret ? ret : RET,
			ret ? frame : FRAME);
    h->now.allocs++;
    if (called == UNLIMITED) return h->direct.make(h->allocd, nsize);
    return called == DIRECT ? make_direct(h, nsize) : make(h, nsize);
  } else {
    return quick_realloc(h, ptr, osize, nsize, ret ? ret : RET,
			 ret ? frame : FRAME);
  }
  return h->allocf(h->allocd, ptr, osize, nsize);
}

static void *hook_sampling(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return sampling(ud, ptr, osize, nsize, ALLOCATOR, NULL, NULL);
}

static void *hook_direct(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return sampling(ud, ptr, osize, nsize, DIRECT, NULL, NULL);
}

static void *hook_unlimited(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return sampling(ud, ptr, osize, nsize, UNLIMITED, NULL, NULL);
}

static void *hook_blind(void *ud, void *ptr, size_t osize, size_t nsize)
{
  if (nsize != 0) return hook_sampling(ud, ptr, osize, nsize);
  return ptr != NULL ? sampled_free(ud, ptr, osize) : pass_on(ud, ptr, 0, 0);
}

static inline __attribute__((always_inline)) void *
exact(mp_alloc *h, void *ptr, size_t osize, size_t nsize, const void *ret,
      const char *frame)
{
  if (nsize == 0) return ptr ? exact_free(h, ptr, osize) : NULL;
  h->now.countdown -= (int64_t)nsize;
  if (h->frozen) return frozen_alloc(h, ptr, osize, nsize);
  return exact_alloc(h, ptr, osize, nsize, ret, frame);
}

static void *hook_exact(void *ud, void *ptr, size_t osize, size_t nsize)
{
  mp_alloc *h = ud;
  if (!h->rows_only) return hook_sampling(h, ptr, osize, nsize);
  return exact(h, ptr, osize, nsize, RET, FRAME);
}

/* Whether the owner is to know what happens to allocations. */
static bool is_told(const mp_alloc *h)
{
  return h->wants.refusals && !h->retired && !h->frozen;
}

static __attribute__((noinline)) void *telling(mp_alloc *h, void *ptr,
					       size_t osize, size_t nsize,
					       const void *ret,
					       const char *frame)
{
  void *p;
  if (nsize >= osize + MP_ALLOC_LARGE && is_told(h))
    h->owner.large(h->owner.data, nsize - osize);
  if (h->coroutines != NULL)
    mp_coroutines_before(h->coroutines, ptr, osize, nsize);
  p = h->rows_only ? exact(h, ptr, osize, nsize, ret, frame) :
      !h->vm.proved ? hook_blind(h, ptr, osize, nsize) :
      sampling(h, ptr, osize, nsize,
	       h->direct.make != NULL ? DIRECT : ALLOCATOR, ret, frame);
  if (p == NULL && nsize > 0 && is_told(h))
    h->owner.refused(h->owner.data, nsize);
  if (h->coroutines != NULL && ptr == NULL && p != NULL)
    mp_coroutines_after(h->coroutines, p, nsize);
  if (!h->frozen) mp_alloc_hold(h);
  return p;
}

/* All of them, for an owner that is to know of allocations that fail, or of
** coroutines. */
static void *hook_telling(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return telling(ud, ptr, osize, nsize, RET, FRAME);
}

/* For an owner that is to know of coroutines alone: blocks of that size may be
** some. The first allocation after one takes the slow path (mp_alloc_hold). A
** smaller block that is freed, as sampling asks in any case, is none. */
static inline __attribute__((always_inline)) void *
knowing(mp_alloc *h, void *ptr, size_t osize, size_t nsize, callee called)
{
  if (nsize == 0 ? osize >= MP_VM_LARGE && osize == h->cosize :
      (ptr != NULL ? osize : nsize) == h->cosize)
    return telling(h, ptr, osize, nsize, RET, FRAME);
  return sampling(h, ptr, osize, nsize, called, NULL, NULL);
}

/* hook_direct for such an owner, and hook_unlimited. */
static void *hook_knowing(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return knowing(ud, ptr, osize, nsize, DIRECT);
}

static void *hook_noting(void *ud, void *ptr, size_t osize, size_t nsize)
{
  return knowing(ud, ptr, osize, nsize, UNLIMITED);
}

/* -- In and out of place ------------------------------------------------- */

/* More bytes than these are refused by a machine without that memory. */
#define MODEST	((double)((size_t)1 << 30))

/* Whether LuaJIT's own allocator may refuse blocks that are no samples. A
** program that limits its memory only later, and then has none left in compiled
** code, meets LuaJIT's bug (mp_vm_refused) as it would by itself. */
static bool may_refuse(const mp_alloc *h)
{
#ifdef MP_REFS32
  (void)h;
  return true;
#else
  return h->period.mean > MODEST || mp_limits_refuse("");
#endif
}

static lua_Alloc hook_for(const mp_alloc *h)
{
  bool knowing = h->coroutines != NULL, direct = h->direct.make != NULL;
  if (knowing && !h->wants.refusals && !h->rows_only && direct)
    return may_refuse(h) ? hook_knowing : hook_noting;
  return h->wants.refusals || knowing ? hook_telling :
	 h->rows_only ? hook_exact : !h->vm.proved ? hook_blind :
	 !direct ? hook_sampling : may_refuse(h) ? hook_direct :
	 hook_unlimited;
}

static bool is_hook(lua_Alloc f)
{
  return f == hook_exact || f == hook_sampling || f == hook_direct ||
	 f == hook_unlimited || f == hook_blind || f == hook_telling ||
	 f == hook_knowing || f == hook_noting;
}

/* Where every allocation is counted, objects have no record if their rows say
** all that is wanted. LuaJIT's own allocator does not need the sizes of blocks
** that it frees, so they can have tags; only these have stamps. */
static void set_kind(mp_alloc *h)
{
  bool exact = h->exact && h->vm.proved && !h->wants.records;
  h->tagged = exact && mp_allocator_builtin(h->allocf);
  h->rows_only = exact && (h->tagged || !h->wants.events);
  h->stamp = h->oldest = h->tagged && h->wants.events;
}

/* all: also those that there are already. */
static void know_coroutines(mp_alloc *h, bool all)
{
  h->coroutines = mp_coroutines_new(&h->vm, all);
  h->capture->coroutines = h->coroutines;
  h->cosize = h->coroutines != NULL ? h->coroutines->size : 0;
}

void mp_hook_install(mp_alloc *h, lua_State *L)
{
  /* The hook of an earlier profile may have been kept in use by others. */
  h->retired = h->frozen = false;
  h->now = (mp_totals){ 0, 0 };
  h->frees = h->watched = 0;
  h->peak = 0;
  h->whole.function = NULL;
  h->allocf = lua_getallocf(L, &h->allocd);
  h->direct = mp_allocator_of(h->allocf);
  set_kind(h);
  if (h->vm.proved) h->white = mp_vm_white(&h->vm);
  mp_type_init(&h->types, &h->vm);
  mp_alloc_draw_distance(h);
  h->inuse_start = mp_alloc_inuse(h);
  if (h->wants.coroutines && h->vm.proved) know_coroutines(h, true);
  lua_setallocf(L, hook_for(h), h);
  h->installed = true;
}

bool mp_hook_removable(const mp_alloc *h, lua_State *L)
{
  void *ud;
  return is_hook(lua_getallocf(L, &ud)) && ud == h;
}

bool mp_hook_remove(mp_alloc *h, lua_State *L)
{
  if (!mp_hook_removable(h, L)) return false;
  lua_setallocf(L, h->allocf, h->allocd);
  h->installed = false;
  return true;
}

void mp_hook_coroutines(mp_alloc *h, lua_State *L)
{
  if (h->coroutines != NULL || !h->vm.proved || !h->installed ||
      !mp_hook_removable(h, L))
    return;
  know_coroutines(h, false);
  lua_setallocf(L, hook_for(h), h);
}

bool mp_hook_kept(const mp_alloc *h, lua_State *L)
{
  void *ud, *p;
  lua_Alloc f = lua_getallocf(L, &ud);
  uint64_t before = h->now.allocs;
  if (h->direct.make != NULL && !mp_allocator_builtin(f)) return true;
  p = f(ud, NULL, 0, 16);
  if (p != NULL) f(ud, p, 16, 0);
  return p == NULL || h->now.allocs != before;
}
