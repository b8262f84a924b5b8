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
#include "sample/decided.h"
#include "sample/tracing.h"
#include "vm/dispatch.h"

/* -- Penalties and blacklisted starts ------------------------------------ */

/* The prototype of an entry; NULL: it was freed. Frees that were not seen, as
** the program had another allocator meanwhile, must not lead astray. */
static const char *proto_of(const mp_code *e)
{
  return e->proto != NULL && mp_jitstate_alive(e->proto) ? e->proto : NULL;
}

/* The prototype in which a trace may start at that instruction, among those
** that samples have seen. */
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
  g.start = mp_decided_proto(c->capture, pt, pos);
  g.proto = pt;
  g.pos = pos;
  g.reason = e->reason;
  g.final = mp_decided_for_good(pt, pos);
  mp_decided_giveup(c, &g);
  return true;
}

/* Adds those from before the start whose prototypes have been seen by now. */
static void add_early(mp_compiler *c)
{
  mp_penalty *e = c->penalties.list, *end = e + MP_PENALTIES;
  for (; e < end; e++)
    if (e->pc != 0 && add_penalty(c, e, true)) e->pc = 0;
}

/* Without the event: adds what has changed in the VM's table. again: and what
** has not, as starts may have been given up for good since. */
static void look_at_table(mp_compiler *c, bool again)
{
  mp_penalty now[MP_PENALTIES];
  uint32_t i;
  if (!c->penalties.live || !c->capture->vm->proved) return;
  mp_jitstate_read_alive(c->capture->vm, &c->penalties, now);
  for (i = 0; i < MP_PENALTIES; i++) {
    mp_penalty *seen = &c->seen[i];
    if (now[i].pc != 0 &&
	(again || now[i].pc != seen->pc || now[i].reason != seen->reason) &&
	add_penalty(c, &now[i], false))
      *seen = now[i];
  }
}

typedef struct starts {
  mp_blacklisted *list;
  uint32_t n, cap;
} starts;

static void add_start(starts *s, mp_compiler *c, const char *pt, uint32_t pos,
		      const char *kind)
{
  if (!mp_mem_room(&s->list, s->n, &s->cap, sizeof(*s->list))) return;
  s->list[s->n].start = mp_decided_proto(c->capture, pt, pos);
  s->list[s->n++].kind = kind;
}

/* Puts a new list in the place of the last one, which another thread may read
** until then. */
static void read_blacklisted(mp_compiler *c)
{
  const mp_codes *codes = &c->capture->codes;
  uint32_t i, pos, n = codes->count;
  starts s = { NULL, 0, 0 };
  mp_blacklisted *old;
  bool loop;
  for (i = 1; i <= n; i++) {
    const char *pt = proto_of(&codes->list[i]);
    if (pt != NULL && mp_jitstate_off(pt)) {
      add_start(&s, c, pt, 0, "off");
      continue;
    }
    for (pos = 0; pt != NULL && mp_jitstate_blacklisted(pt, &pos, &loop); pos++)
      add_start(&s, c, pt, pos, loop ? "loop" : "function");
  }
  mp_lock();
  old = c->blacklisted;
  c->blacklisted = s.list;
  c->nblacklisted = s.n;
  mp_unlock();
  mp_free(old);
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

/* Frees what is kept by the numbers of traces. */
static void free_numbers(mp_compiler *c)
{
  uint32_t *ticks = c->cpu->in_trace;
  double *bytes = c->capture->in_trace;
  c->cpu->in_trace = NULL;
  c->capture->in_trace = NULL;
  mp_free(c->by_number);
  c->by_number = NULL;
  mp_free(ticks);
  mp_free(bytes);
}

static bool make_numbers(mp_compiler *c)
{
  uint32_t *ticks = mp_calloc(MP_TRACE_NUMBERS, sizeof(*ticks));
  double *bytes = mp_calloc(MP_TRACE_NUMBERS, sizeof(*bytes));
  c->by_number = mp_calloc(MP_TRACE_NUMBERS, sizeof(*c->by_number));
  c->cpu->in_trace = ticks;
  c->capture->in_trace = bytes;
  if (c->by_number != NULL && ticks != NULL && bytes != NULL) return true;
  free_numbers(c);
  return false;
}

void mp_compiler_start(mp_compiler *c, lua_State *L)
{
  if (!c->on) return;
  c->last = -1;
  if (!make_numbers(c)) {
    c->why = "there was no memory";
    return;
  }
  /* Memory that listening takes would be among misc.memprof's events. */
  if (!c->capture->traces) mp_tracing_start(c, L);
  c->penalties.live = !c->listens;
  mp_decided_traces(c, false);
}

void mp_compiler_stop(mp_compiler *c, lua_State *L)
{
  if (!c->on) return;
  mp_compiler_take(c);
  mp_tracing_stop(c, L);
}

void mp_compiler_look(mp_compiler *c)
{
  double now;
  if (!c->on || c->by_number == NULL) return;
  now = mp_clock_wall();
  if (now < c->looks) return;
  c->looks = now + MP_COMPILER_LOOKS;
  c->nlooks++;
  if (mp_dispatch_jitoff(c->capture->vm)) c->noff++;
  mp_capture_enter(c->capture);
  mp_decided_settle(c);
  if (now >= c->reads) {
    mp_decided_traces(c, false);
    c->reads = now + mp_compiler_reads(c->live);
  }
  look_at_table(c, false);
  mp_capture_leave(c->capture);
}

void mp_compiler_take(mp_compiler *c)
{
  mp_vm *vm = c->capture->vm;
  if (!c->on || c->by_number == NULL) return;
  mp_tracing_look(c);
  if (!vm->proved) return;
  mp_capture_enter(c->capture);
  mp_decided_fold(c);
  if (!c->flushing) mp_decided_traces(c, true);
  add_early(c);
  look_at_table(c, true);
  read_blacklisted(c);
  c->looked = true;
  mp_capture_leave(c->capture);
}

static void forget(mp_compiler *c)
{
  mp_decided_unlist(c);
  c->started = c->stopped = c->aborted = c->dropped = 0;
  c->ngiveups = c->nflushes = c->nmade = c->nblacklisted = c->live = 0;
  c->nescaped = c->leftout = c->nlooks = c->noff = c->unused = 0;
  mp_map_clear(&c->giveupmap);
  mp_map_clear(&c->escapedmap);
  mp_map_clear(&c->begun);
}

void mp_compiler_restart(mp_compiler *c)
{
  forget(c);
  if (c->by_number == NULL) return;
  memset(c->by_number, 0, MP_TRACE_NUMBERS * sizeof(*c->by_number));
  c->numbers = 0;
  memset(c->cpu->in_trace, 0, MP_TRACE_NUMBERS * sizeof(*c->cpu->in_trace));
  memset(c->capture->in_trace, 0,
	 MP_TRACE_NUMBERS * sizeof(*c->capture->in_trace));
  c->looks = c->reads = 0;
}

void mp_compiler_free(mp_compiler *c)
{
  free_numbers(c);
  forget(c);
  mp_listing_free(&c->listing);
  mp_map_free(&c->giveupmap);
  mp_map_free(&c->escapedmap);
  mp_map_free(&c->begun);
  mp_free(c->giveups);
  mp_free(c->made);
  mp_free(c->flushes);
  mp_free(c->blacklisted);
  mp_free(c->escaped);
}
