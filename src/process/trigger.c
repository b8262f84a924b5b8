/* SPDX-License-Identifier: MIT */
/*
** See process/trigger.h.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "data/process.h"
#include "heapwalk/prove.h"
#include "heapwalk/walk.h"
#include "process/background.h"
#include "process/signal.h"
#include "process/trigger.h"
#include "profile/memory.h"
#include "profile/point.h"
#include "report/write.h"

#define PAUSE	0.25		/* Seconds between two looks. */
#define GONE	0.9		/* Memory below that part of it has gone. */
#define SOON	0.05		/* While a report is made. */
#define URGENT	0.9		/* From that part on, the program waits for */
				/* the report. */
#define COPIED	((double)(64u << 20))  /* Bytes that may be copied between */
				/* two looks. */
#define HALF	0.5		/* Memory is far from it. */
#define STEPS	32		/* Looks while a limit is filled, at least. */
#define RECENT	15		/* Seconds between two moments. */
#define ROOM	((uint64_t)1 << 30)  /* Bytes of addresses. */
#define LOW	((uint64_t)1 << 31)  /* Bytes where LuaJIT without GC64 has */
				/* its heap, in a process of 64 bits. */
#define TIMES	5u		/* Reports of one kind, at most. */
#define PLACES	4		/* Functions that say where the program is. */

#if defined(MP_REFS32) && UINTPTR_MAX > UINT32_MAX
#define HAS_LOW_HEAP	true
#else
#define HAS_LOW_HEAP	false
#endif

typedef enum { MEMORY, BUSY, REFUSED } kind;

static const char *const names[] = { "memory", "busy", "refused" };

/* -- Reports ------------------------------------------------------------- */

/* The functions on top of the stack. Takes no memory of the VM's. */
static void describe(lua_State *L, char *buf, size_t size)
{
  lua_Debug ar;
  size_t n = 0;
  int level, found = 0;
  buf[0] = '\0';
  for (level = 0; found < PLACES && lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || ar.currentline < 0) continue;
    n += (size_t)snprintf(buf + n, size - n, "%s%s:%d", found++ ? " < " : "",
			  ar.short_src, ar.currentline);
    if (n >= size) return;
  }
}

/* Whether the reports of an event are still being made. */
static bool is_telling(const mp_ctx *c)
{
  return c->background.doing != MP_DOING_NOTHING && c->background.needed;
}

static const mp_heaprequest *request(const mp_ctx *c)
{
  return c->triggers.event.kind == names[BUSY] ? &c->plan.walk :
	 &c->plan.trigger.walk;
}

static void keep_baseline(mp_ctx *c, const mp_heapwalk *w)
{
  if (w != NULL && w->why == NULL)
    mp_baseline_take(&c->triggers.base, &w->holders, w->at, w->least);
}

/* The report of the last half minute, or of all since the start. */
static void write_last(mp_ctx *c, const mp_moment *now)
{
  char event[MP_EVENT_SIZE + 8], msg[512];
  mp_report *r = &c->report;
  snprintf(event, sizeof(event), "%s-last", c->triggers.name);
  r->from = &c->triggers.recent[0];
  r->to = now;
  if (mp_report_event(r, &c->plan, event, msg, sizeof(msg)) != 0) mp_say(msg);
  r->from = r->to = NULL;
}

/* Writes the reports of an event. now: or NULL. */
static void write_reports(mp_ctx *c, const mp_moment *now,
			  const mp_heapwalk *w)
{
  mp_report *r = &c->report;
  char msg[512];
  r->event = &c->triggers.event;
  r->base = &c->triggers.base;
  if (mp_report_event(r, &c->plan, c->triggers.name, msg, sizeof(msg)) != 0)
    mp_say(msg);
  if (now != NULL) write_last(c, now);
  r->event = NULL;
  r->base = NULL;
  keep_baseline(c, w);
}

/* In a thread of ours. A walk that was lost is made again in the program's. */
static void write_aside(mp_ctx *c)
{
  const mp_heapwalk *w = c->report.walk;
  write_reports(c, c->report.at, w);
  if (w != NULL && w->why != NULL) c->triggers.again = true;
}

/* Whether the event is inside the allocator: then the program waits for its
** reports, and the VM is not at rest for a moment. */
static bool is_inside(const mp_ctx *c)
{
  const mp_trigger *a = &c->triggers.event;
  return a->kind == names[REFUSED] || a->asked > 0;
}

/* The program stands still. */
static void write_here(mp_ctx *c, lua_State *L, const char *alone)
{
  mp_profile *p = &c->profile;
  mp_moment now;
  bool taken = false;
  mp_heapwalk_refresh(p, L, request(c), MP_MEANWHILE);
  if (p->walk != NULL) p->walk->alone = alone;
  if (!is_inside(c)) taken = mp_moment_take(&now, p);
  mp_signal_hold();
  write_reports(c, taken ? &now : NULL, p->walk);
  mp_signal_release();
  if (taken) mp_moment_free(&now);
  mp_heapwalk_drop(p);
}

/* Whether it makes no difference to the program that a thread of ours takes
** addresses: the C library reserves many for it. */
static bool has_room(const mp_ctx *c)
{
  const mp_limits *s = &c->triggers.limits;
  uint64_t most = s->most[MP_LIMIT_ADDRESSES];
  uint64_t used = s->used[MP_LIMIT_ADDRESSES];
  return most == 0 || (most > used && most - used >= ROOM);
}

/* Writes the reports. The VM is at rest in L, or inside the allocator. */
static void write_event(mp_ctx *c, lua_State *L)
{
  mp_profile *p = &c->profile;
  bool inside = is_inside(c);
  const char *why = NULL;
  mp_point_force(p);
  c->triggers.memory = c->plan.memory;
  if (c->plan.memory) mp_memory_take(p, &c->report.state->memory);
  if (!inside) mp_compiler_take(&p->compiler);
  if (!inside && !has_room(c))
    why = "there are few addresses left (RLIMIT_AS)";
  else if (!inside)
    why = mp_background_begin(c, L, request(c), true, write_aside);
  if (inside || why != NULL) write_here(c, L, why);
}

/* Bytes by which the heap has grown since the last look at the process. */
static double grown_since(const mp_ctx *c)
{
  size_t inuse = mp_alloc_inuse(c->profile.heap);
  return inuse > c->triggers.inuse ? (double)(inuse - c->triggers.inuse) : 0;
}

/* Whether that part of the memory that may be in use is in use with so many
** bytes more: of which limit, so that it can be told. */
static bool is_above(mp_ctx *c, double part, size_t more, mp_trigger *a)
{
  const mp_triggerrequest *request = &c->plan.trigger;
  const mp_limits *s = &c->triggers.limits;
  double inuse = (double)mp_alloc_inuse(c->profile.heap);
  double grown = grown_since(c), asked = (double)more;
  double rss = (double)s->rss + grown;
  int k;
  a->asked = asked;
  for (k = 0; request->share > 0 && k < MP_LIMITS; k++) {
    a->used = (double)s->used[k] + grown;
    a->most = (double)s->most[k];
    a->of = mp_limit_name((mp_limitkind)k);
    if (a->most > 0 && a->used + asked >= a->most * request->share * part)
      return true;
  }
  a->used = rss > inuse ? rss : inuse;
  a->most = request->bytes;
  a->of = NULL;
  return request->bytes > 0 && a->used + asked >= request->bytes * part;
}

/* The bytes that the program leaves free for a report. Where its memory is
** limited, and not its addresses, each page that it writes to while a child
** reads it is there twice: a collection alone writes to most of the heap. */
static double margin(const mp_ctx *c, mp_limitkind k)
{
  double least = (double)c->triggers.limits.most[k] * (1 - URGENT);
  double copies = (double)mp_alloc_inuse(c->profile.heap);
  if (k != MP_LIMIT_CGROUP && k != MP_LIMIT_MACHINE) return least;
  if (copies > COPIED) copies = COPIED;
  return copies > least ? copies : least;
}

/* Whether the limit is nearly met, with so many bytes more. */
static bool is_near(const mp_ctx *c, mp_limitkind k, size_t more)
{
  const mp_limits *s = &c->triggers.limits;
  return s->most[k] > 0 && (double)s->used[k] + grown_since(c) + (double)more >=
	 (double)s->most[k] - margin(c, k);
}

/* Whether memory is so near a limit that the program waits for a report, which
** there would be no time for if it went on. */
static bool is_urgent(const mp_ctx *c)
{
  int k;
  for (k = 0; k < MP_LIMITS; k++)
    if (is_near(c, (mp_limitkind)k, 0)) return true;
  return false;
}

/* Whether an event must wait for what a thread of ours is busy with: another
** event's reports, or what then hurries to its end. The program itself only
** waits for that when there would soon be no memory for a report. */
static bool is_early(mp_ctx *c, kind k, const mp_trigger *event)
{
  if (k == REFUSED || event->asked > 0 || !c->final.read) return false;
  if (is_telling(c)) return true;
  mp_ctx_hurry(c);
  return c->final.read && !(k == MEMORY && is_urgent(c));
}

/* Tells of an event. False: it is too early. */
static bool tell(mp_ctx *c, lua_State *L, kind k, const mp_trigger *event)
{
  mp_triggers *s = &c->triggers;
  unsigned nth = s->times[k] + 1;
  if (s->times[k] >= TIMES || c->profile.busy) return true;
  if (is_early(c, k, event)) return false;
  mp_ctx_await(c);  /* Another thread may read what is set here. */
  s->times[k] = nth;
  s->event = *event;
  s->event.kind = names[k];
  describe(L, s->event.at, sizeof(s->event.at));
  snprintf(s->name, sizeof(s->name), nth > 1 ? "%s-%u" : "%s", names[k], nth);
  write_event(c, L);
  return true;
}

/* The walk of the last event was lost. */
static void tell_again(mp_ctx *c, lua_State *L)
{
  c->triggers.again = false;
  write_here(c, L, "the child was ended");
}

/* -- Memory -------------------------------------------------------------- */

static void look_at_limits(mp_ctx *c)
{
  mp_limits *s = &c->triggers.limits;
  mp_limits_look(s, "");
  c->triggers.inuse = mp_alloc_inuse(c->profile.heap);
  if (HAS_LOW_HEAP) s->used[MP_LIMIT_POINTERS] = c->triggers.inuse;
  c->triggers.next = mp_span_wall(&c->profile.span) +
    (is_telling(c) ? SOON : PAUSE);
}

/* Whether it is time to look again: the heap may fill a limit in less than the
** pause, and takes more memory than is in use of it. */
static bool is_due(const mp_ctx *c, double wall)
{
  const mp_triggers *s = &c->triggers;
  size_t inuse = mp_alloc_inuse(c->profile.heap);
  int k;
  if (wall >= s->next) return true;
  for (k = 0; k < MP_LIMITS; k++)
    if (s->limits.most[k] > 0 && inuse > s->inuse &&
	inuse - s->inuse >= s->limits.most[k] / STEPS)
      return true;
  return false;
}

/* Looks whether memory has come near a limit, or has gone from it. */
static void look_at_memory(mp_ctx *c)
{
  mp_trigger a;
  bool above = is_above(c, c->triggers.above ? GONE : 1, 0, &a);
  if (above && !c->triggers.above) c->triggers.wanted = true;
  c->triggers.above = above;
}

static bool wants_memory(const mp_ctx *c)
{
  return c->plan.trigger.share > 0 || c->plan.trigger.bytes > 0;
}

/* Inside the allocator: the report waits for the next safepoint. */
static void watch(mp_ctx *c)
{
  int saved = errno;
  if (!wants_memory(c) || c->final.done || mp_alloc_frozen(c->profile.heap))
    return;
  if (is_due(c, mp_span_wall(&c->profile.span))) look_at_limits(c);
  look_at_memory(c);
  if (c->profile.cpu.has_timer &&
      (is_telling(c) ? is_urgent(c) : c->triggers.wanted))
    mp_cpu_ask(&c->profile.cpu);
  errno = saved;
}

static void tell_memory(mp_ctx *c, lua_State *L)
{
  mp_trigger a;
  c->triggers.wanted = is_above(c, GONE, 0, &a) && !tell(c, L, MEMORY, &a);
}

/* -- Memory that is asked for --------------------------------------------- */

/* Whether the heap can be walked although the VM waits for memory. The VM may
** raise an error there: each object is as the collector may find it. Of
** compiled code only those values are seen that are in memory. */
static bool rests(const mp_vm *vm)
{
  int letter;
  if (!vm->proved) return false;
  letter = mp_vm_letter(vm);
  return letter != 'G' && letter != 'J';
}

/* Inside the allocator, which will have these bytes: the kernel ends a process
** when it uses more memory than it may, and there is no safepoint until then.
** Where the kernel refuses memory instead, that is another event. */
static void large(mp_ctx *c, size_t size)
{
  mp_profile *p = &c->profile;
  mp_triggers *s = &c->triggers;
  int saved = errno;
  mp_trigger a;
  if (!wants_memory(c) || c->final.done || p->capture.anchor == NULL ||
      !rests(mp_alloc_vm(p->heap)))
    return;
  look_at_limits(c);
  if (!is_near(c, MP_LIMIT_CGROUP, size) && !is_near(c, MP_LIMIT_MACHINE, size))
    return;
  if (is_telling(c)) {
    mp_ctx_await(c);
  } else if ((!s->above || s->wanted) && is_above(c, 1, size, &a)) {
    s->above = true;
    s->wanted = false;
    tell(c, p->capture.anchor, MEMORY, &a);
  }
  errno = saved;
}

static void tell_refused(mp_ctx *c, lua_State *L)
{
  mp_trigger a = {
    NULL, (double)mp_alloc_inuse(c->profile.heap),
    (double)c->triggers.refused, NULL, 0, ""
  };
  c->triggers.refused = 0;
  tell(c, L, REFUSED, &a);
}

/* Inside the allocator. */
static void refused(mp_ctx *c, size_t size)
{
  mp_profile *p = &c->profile;
  int saved = errno;
  if (c->final.done || c->triggers.times[REFUSED] >= TIMES ||
      c->triggers.refused != 0 || p->capture.anchor == NULL)
    return;
  c->triggers.refused = size;
  if (rests(mp_alloc_vm(p->heap))) tell_refused(c, p->capture.anchor);
  else if (p->cpu.has_timer) mp_cpu_ask(&p->cpu);
  errno = saved;
}

/* -- The processor ------------------------------------------------------- */

/* Whether the thread waited for nothing for that many seconds of CPU time. */
static void look_at_thread(mp_ctx *c, lua_State *L)
{
  mp_triggers *s = &c->triggers;
  pid_t tid = mp_process_thread();
  struct rusage u;
  mp_trigger a;
  double cpu;
  if (getrusage(RUSAGE_THREAD, &u) != 0) return;
  cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
  if (u.ru_nvcsw != s->waits || tid != s->tid) {
    s->waits = u.ru_nvcsw;
    s->tid = tid;
    s->begun = cpu;
    s->reported = false;
  }
  if (s->reported || cpu - s->begun < c->plan.trigger.busy) return;
  a = (mp_trigger){ NULL, cpu - s->begun, c->plan.trigger.busy, NULL, 0,
		     "" };
  s->reported = tell(c, L, BUSY, &a);
}

/* -- What events are compared to ------------------------------------------ */

static void write_baseline(mp_ctx *c) { keep_baseline(c, c->report.walk); }

/* Half of the memory is in use: what holds it is the baseline. */
static void look_at_baseline(mp_ctx *c, lua_State *L)
{
  mp_triggers *s = &c->triggers;
  mp_trigger a;
  if (s->based || c->final.read || !is_above(c, HALF, 0, &a)) return;
  s->based = true;
  if (has_room(c))
    mp_background_begin(c, L, &c->plan.trigger.walk, false, write_baseline);
}

/* Moments that are the beginning of the last half minute. */
static void keep_recent(mp_ctx *c, double wall)
{
  mp_triggers *s = &c->triggers;
  mp_moment now;
  if (c->final.read || (s->nrecent > 0 &&
      wall - s->recent[s->nrecent - 1].sums.wall < RECENT) ||
      !mp_moment_take(&now, &c->profile))
    return;
  if (s->nrecent == MP_RECENT) {
    mp_moment_free(&s->recent[0]);
    memmove(&s->recent[0], &s->recent[1],
	    (MP_RECENT - 1) * sizeof(s->recent[0]));
    s->nrecent--;
  }
  s->recent[s->nrecent++] = now;
}

/* The reports of the last event have been written. */
static void look_after(mp_ctx *c, lua_State *L)
{
  if (c->final.read) return;
  if (c->triggers.again) tell_again(c, L);
  if (c->triggers.memory) mp_memory_drop(&c->profile);
  c->triggers.memory = false;
}

/* -- All ----------------------------------------------------------------- */

void mp_trigger_prepare(mp_ctx *c)
{
  if (!wants_memory(c) && c->plan.trigger.busy <= 0) return;
  mp_heap_prove();  /* Later there may be no memory for it. */
  mp_limits_find(&c->triggers.limits, "");
  if (HAS_LOW_HEAP) c->triggers.limits.most[MP_LIMIT_POINTERS] = LOW;
  mp_baseline_init(&c->triggers.base);
  c->triggers.waits = -1;
  c->watch = watch;
  c->refused = refused;
  c->large = large;
}

void mp_trigger_look(mp_ctx *c, lua_State *L, double wall)
{
  if (c->watch == NULL || c->profile.busy ||
      mp_alloc_frozen(c->profile.heap))
    return;
  if (wants_memory(c) && is_telling(c) && is_urgent(c)) mp_ctx_await(c);
  look_after(c, L);
  keep_recent(c, wall);
  if (wall >= c->triggers.next) look_at_limits(c);
  if (c->plan.trigger.busy > 0 && wall >= c->triggers.turn) {
    c->triggers.turn = wall + PAUSE;
    look_at_thread(c, L);
  }
  if (wants_memory(c)) look_at_memory(c);
  if (c->triggers.wanted) tell_memory(c, L);
  else if (wants_memory(c)) look_at_baseline(c, L);
  if (c->triggers.refused != 0) tell_refused(c, L);
}
