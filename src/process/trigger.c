/* SPDX-License-Identifier: MIT */
/*
** See process/trigger.h.
*/
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "heapwalk/prove.h"
#include "heapwalk/walk.h"
#include "process/trigger.h"
#include "process/signal.h"
#include "profile/memory.h"
#include "profile/point.h"
#include "report/write.h"

#define PAUSE	0.25		/* Seconds between two looks. */
#define GONE	0.9		/* Memory below that part of it has gone. */
#define TIMES	5u		/* Reports of one kind, at most. */
#define PLACES	4		/* Functions that say where the program is. */

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

/* Writes the report. The VM is at rest in L, or in a function that will raise
** an error because it gets no memory. */
static void write_report(mp_ctx *c, lua_State *L, kind k)
{
  mp_profile *p = &c->profile;
  unsigned nth = ++c->triggers.times[k];
  char event[MP_EVENT_SIZE], msg[512];
  snprintf(event, sizeof(event), nth > 1 ? "%s-%u" : "%s", names[k], nth);
  mp_ctx_await(c);
  p->trigger.kind = names[k];
  mp_signal_hold();
  mp_point_force(p);
  if (c->plan.memory) mp_memory_take(p, &c->report.state.memory);
  if (k != REFUSED) mp_compiler_take(&p->compiler);
  mp_heapwalk_refresh(p, L, k == BUSY ? &c->plan.walk :
		      &c->plan.trigger.walk, MP_MEANWHILE);
  if (mp_report_event(&c->report, &c->plan, event, msg, sizeof(msg)) != 0)
    mp_say(msg);
  mp_heapwalk_drop(p);
  mp_memory_drop(p);
  mp_signal_release();
  memset(&p->trigger, 0, sizeof(p->trigger));
}

static void tell(mp_ctx *c, lua_State *L, kind k, double used, double most,
		 const char *of)
{
  mp_trigger *a = &c->profile.trigger;
  if (c->triggers.times[k] >= TIMES || c->profile.busy) return;
  a->used = used;
  a->most = most;
  a->of = of;
  describe(L, a->at, sizeof(a->at));
  write_report(c, L, k);
}

/* -- Memory -------------------------------------------------------------- */

/* Whether that part of the memory that may be in use is in use: of which limit,
** so that it can be told. The heap may have grown since the last look at the
** process. */
static bool is_above(mp_ctx *c, double part, mp_trigger *a)
{
  const mp_triggerwish *wish = &c->plan.trigger;
  const mp_limits *s = &c->triggers.limits;
  double inuse = (double)mp_alloc_inuse(c->profile.heap);
  double grown = inuse > (double)c->triggers.inuse ?
		 inuse - (double)c->triggers.inuse : 0;
  double rss = (double)s->rss + grown;
  int k;
  for (k = 0; wish->share > 0 && k < MP_LIMITS; k++) {
    a->used = (double)s->used[k] + grown;
    a->most = (double)s->most[k];
    a->of = mp_limit_name((mp_limitkind)k);
    if (a->most > 0 && a->used >= a->most * wish->share * part) return true;
  }
  a->used = rss > inuse ? rss : inuse;
  a->most = wish->bytes;
  a->of = NULL;
  return wish->bytes > 0 && a->used >= wish->bytes * part;
}

static void look_at_limits(mp_ctx *c)
{
  mp_limits_look(&c->triggers.limits, "");
  c->triggers.inuse = mp_alloc_inuse(c->profile.heap);
  c->triggers.next = mp_span_wall(&c->profile.span) + PAUSE;
}

/* Looks whether memory has come near a limit, or has gone from it. */
static void look_at_memory(mp_ctx *c)
{
  mp_trigger a;
  bool above = is_above(c, c->triggers.above ? GONE : 1, &a);
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
  if (mp_span_wall(&c->profile.span) >= c->triggers.next) look_at_limits(c);
  look_at_memory(c);
  if (c->triggers.wanted && c->profile.cpu.has_timer)
    mp_cpu_ask(&c->profile.cpu);
  errno = saved;
}

static void tell_memory(mp_ctx *c, lua_State *L)
{
  mp_trigger a;
  c->triggers.wanted = false;
  if (is_above(c, GONE, &a)) tell(c, L, MEMORY, a.used, a.most, a.of);
}

/* -- Memory that is refused ---------------------------------------------- */

static void tell_refused(mp_ctx *c, lua_State *L)
{
  double size = (double)c->triggers.refused;
  c->triggers.refused = 0;
  tell(c, L, REFUSED, (double)mp_alloc_inuse(c->profile.heap), size, NULL);
}

/* Whether the heap can be walked although the VM waits for memory. The VM will
** raise an error: each object is as the collector may find it. Of compiled code
** only those values are seen that are in memory. */
static bool rests(const mp_vm *vm)
{
  int letter;
  if (!vm->proved) return false;
  letter = mp_vm_letter(vm);
  return letter != 'G' && letter != 'J';
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
  struct rusage u;
  double cpu;
  if (getrusage(RUSAGE_THREAD, &u) != 0) return;
  cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
  if (u.ru_nvcsw != s->waits || cpu < s->begun) {
    s->waits = u.ru_nvcsw;
    s->begun = cpu;
    s->told = false;
  }
  if (s->told || cpu - s->begun < c->plan.trigger.busy) return;
  s->told = true;
  tell(c, L, BUSY, cpu - s->begun, c->plan.trigger.busy, NULL);
}

/* -- All ----------------------------------------------------------------- */

void mp_trigger_prepare(mp_ctx *c)
{
  if (!wants_memory(c) && c->plan.trigger.busy <= 0) return;
  mp_heap_prove();  /* Later there may be no memory for it. */
  mp_limits_find(&c->triggers.limits, "");
  c->triggers.waits = -1;
  c->watch = watch;
  c->refused = refused;
}

void mp_trigger_look(mp_ctx *c, lua_State *L, double wall)
{
  if (c->watch == NULL || c->profile.busy ||
      mp_alloc_frozen(c->profile.heap))
    return;
  if (wall >= c->triggers.next) {
    look_at_limits(c);
    if (c->plan.trigger.busy > 0) look_at_thread(c, L);
  }
  if (wants_memory(c)) look_at_memory(c);
  if (c->triggers.wanted) tell_memory(c, L);
  if (c->triggers.refused != 0) tell_refused(c, L);
}
