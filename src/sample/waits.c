/* SPDX-License-Identifier: MIT */
/*
** See sample/waits.h.
**
** Of the shared data, the thread writes what is atomic in a table, and all of
** an entry before it counts it in `n`. There are two tables. When the one in
** use is nearly full, the thread of the VM empties the other one, and names it
** as the one to use; the first is left alone until the thread has followed.
*/
#include "config.h"

#include "sample/waits.h"

#ifdef MP_LAYOUT

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "data/callname.h"
#include "data/clock.h"
#include "data/map.h"
#include "data/mem.h"
#include "data/seed.h"
#include "data/thread.h"
#include "sample/blocked.h"
#include "vm/low.h"
#include "vm/parked.h"

#define INTERVAL	0.01	/* Mean seconds from look to look: at first, */
#define INTERVAL_MAX	0.25	/* and at most, */
#define LOOKS_FIRST	1000u	/* after so many looks. */
#define SHARE		0.01	/* Of one processor, at most. */
#define BUDGET		0.004	/* Part of the program's CPU time, later. */
#define DRAWN_MIN	16u	/* Coroutines that are looked at, */
#define DRAWN_MAX	256u	/* if that takes no larger share. */
#define ENTRIES		2048u	/* Of a table; a power of two. */
#define FRAMES		16384u
#define FREED		65536u	/* Bits; a power of two. */
#define STACK		(256 << 10)	/* Bytes. */
#define LOOKS		16u	/* That are counted late, where Lua runs. */

/* A stack. */
typedef struct entry {
  uint64_t hash;
  uint64_t frees;		/* Blocks of code freed when it was read. */
  uint32_t frame, n;		/* Its frames: these, */
  bool cut;			/* and there are more; */
  mp_parkedat at;
  uint32_t labels;		/* the coroutine's. */
  bool blocked;			/* It is the running one's, whose thread */
  bool loop;			/* sleeps, in an event loop or not, */
  int64_t call;			/* in that system call. */
  const char *trace;		/* For the VM's thread: that it runs. */
  atomic_bool stale;		/* Some of its code was freed since; or */
				/* perhaps before its row was made. */
  _Atomic double seconds;	/* Sums over looks: time by coroutines; */
  _Atomic double ones, squares;	/* its square by them and their square; */
				/* where it is blocked, the variance. */
  _Atomic double now;		/* Coroutines seen at that look. */
  atomic_uint_fast64_t look;
  uint32_t row;			/* For the VM's thread: 0: not made yet; */
  double counted, countedvar;	/* what was counted there, */
} entry;

typedef struct table {
  atomic_uint n, nframes;	/* Entries; frames of theirs. */
  uint32_t made;		/* For the VM's thread: entries with rows. */
  uint16_t index[ENTRIES * 2];	/* By hash: the entry, from 1. */
  entry entries[ENTRIES];
  mp_parkedframe frames[FRAMES];
} table;

typedef struct mp_watching {
  pthread_t thread;
  pthread_mutex_t mutex;	/* Of what follows: */
  pthread_cond_t cond;
  bool stop, quietly;
  double stopped;		/* When that was asked for; mp_asleep_mine */
  double mine;			/* of the VM's thread then. */
  mp_capture *capture;
  const mp_vm *vm;
  const mp_coroutines *coroutines;
  atomic_uint use, used;	/* The table to use; the one that is used. */
  atomic_uint_fast64_t frees, looks, seen;
  _Atomic double time, times;	/* Of all looks, and the sum of squares; */
  _Atomic double one;		/* coroutines for which one stands. */
  _Atomic double sleeps, sleepsquares;  /* The VM's thread's that were seen, */
				/* and the sum of the squares of what they */
				/* stand for. */
  _Atomic double seconds, other, otherblocked;
  double counted, countedblocked;  /* Of these two, in rows. */
  uint64_t looked;		/* Looks that are. */
  entry *slept;			/* Where the VM's thread was asleep last, */
  bool sleptother;		/* or that it was in a place without entry. */
  double last;			/* When it looked, */
  double cost, busy;		/* Moving averages: CPU seconds of a look, */
				/* and processors that the program uses; */
  double cpu;			/* its CPU time then; */
  double interval;		/* seconds until the next look, on average; */
  uint32_t drawn;		/* at so many, at most, */
  entry *found[DRAWN_MAX + 1];	/* who waited there, */
  uint32_t nfound;
  double lost;			/* or so many elsewhere, and stand for so */
  double before;		/* many seconds before that look. */
  uint64_t random;
  mp_parked parked;
  mp_blocked blocked;
  pthread_t here;		/* The VM's thread. */
  mp_parkedview *view;
  uint64_t code[FREED / 64];	/* Prototypes in entries, as a filter. */
  table tables[2];
} watching;

#define GET(a)		atomic_load_explicit(&(a), memory_order_acquire)
#define SET(a, v)	atomic_store_explicit(&(a), (v), memory_order_release)

/* One thread writes it. */
#define ADD(a, v)	SET(a, GET(a) + (v))

/* -- The thread ----------------------------------------------------------- */

/* A stack that was seen. */
typedef struct sight {
  const mp_parked *parked;
  uint32_t labels;
  uint64_t frees;		/* Of code, before it was read. */
  const mp_blocked *blocked;	/* NULL: a coroutine that waits. */
} sight;

static uint64_t hash_of(const sight *s)
{
  const mp_parked *p = s->parked;
  uint64_t h = mp_mix(s->labels, p->cut);
  uint32_t i;
  h = mp_mix(h, p->at.pc);
  h = mp_mix(h, (uint64_t)p->at.trace << 1 | p->at.compiled);
  if (s->blocked != NULL)
    h = mp_mix(h, (uint64_t)s->blocked->call << 2 | s->blocked->loop << 1 | 1);
  for (i = 0; i < p->n; i++) {
    const mp_parkedframe *f = &p->frames[i];
    h = mp_mix(h, (uintptr_t)f->code);
    h = mp_mix(h, f->link);
    h = mp_mix(h, f->contpc ^ f->cont << 8 ^ f->ffid);
  }
  return h;
}

/* A new entry; NULL: there is no room. */
static entry *add_entry(table *t, const sight *s, uint64_t hash,
			uint16_t *index)
{
  const mp_parked *p = s->parked;
  uint32_t n = GET(t->n), nframes = GET(t->nframes);
  entry *e = &t->entries[n];
  if (n == ENTRIES || nframes + p->n > FRAMES) return NULL;
  memset(e, 0, sizeof(*e));
  e->hash = hash;
  e->frees = s->frees;
  e->frame = nframes;
  e->n = p->n;
  e->cut = p->cut;
  e->at = p->at;
  e->labels = s->labels;
  e->blocked = s->blocked != NULL;
  e->loop = e->blocked && s->blocked->loop;
  e->call = e->blocked ? s->blocked->call : 0;
  memcpy(&t->frames[e->frame], p->frames, p->n * sizeof(*p->frames));
  SET(t->nframes, nframes + p->n);
  *index = (uint16_t)(n + 1);
  SET(t->n, n + 1);
  return e;
}

/* The entry of a stack. */
static entry *find_entry(table *t, const sight *s)
{
  uint64_t hash = hash_of(s);
  uint32_t i = (uint32_t)(hash >> 32) & (ENTRIES * 2 - 1);
  for (; t->index[i] != 0; i = (i + 1) & (ENTRIES * 2 - 1)) {
    entry *e = &t->entries[t->index[i] - 1];
    if (e->hash == hash && !GET(e->stale)) return e;
  }
  return add_entry(t, s, hash, &t->index[i]);
}

/* A coroutine waits there, and stands for so many. */
static void count_one(watching *w, table *t, double many, const sight *s)
{
  entry *e = find_entry(t, s);
  uint64_t look = GET(w->looks);
  ADD(w->seen, 1);
  if (e == NULL) {
    w->lost += many;
    return;
  }
  if (GET(e->look) != look) {
    w->found[w->nfound++] = e;
    SET(e->now, 0);
    SET(e->look, look);
  }
  ADD(e->now, many);
}

/* Those that the last look found count for so many of the seconds until this
** one, too. */
static void settle(watching *w, double seconds, double theirs)
{
  double time = w->before + theirs;
  uint32_t i;
  for (i = 0; i < w->nfound; i++) {
    entry *e = w->found[i];
    double many = GET(e->now);
    ADD(w->seconds, time * many);
    ADD(e->seconds, time * many);
    ADD(e->ones, time * time * many);
    ADD(e->squares, time * time * many * many);
  }
  ADD(w->seconds, time * w->lost);
  ADD(w->other, time * w->lost);
  ADD(w->time, time);
  ADD(w->times, time * time);
  w->nfound = 0;
  w->lost = 0;
  w->before = seconds - theirs;
}

/* So many of the seconds since the last look count for what that has found:
** half of them, and all in which the VM's thread was in the queue for a
** processor before anything could change. (The thread that looks may have been
** in the same queue, and come right after it.) */
static double part_of_last(watching *w, double seconds)
{
  double queued = mp_blocked_queued(&w->blocked);
  return (seconds + (queued < seconds ? queued : seconds)) / 2;
}

static void count_sleep(watching *w, double seconds)
{
  ADD(w->sleeps, 1);
  ADD(w->sleepsquares, seconds * seconds);
}

static void add_blocked(entry *e, double seconds, double variance)
{
  ADD(e->seconds, seconds);
  ADD(e->squares, variance);
}

/* Where the VM's thread was asleep last. */
static void settle_blocked(watching *w)
{
  const mp_blocked *b = &w->blocked;
  if (w->slept != NULL) add_blocked(w->slept, b->before, b->before_variance);
  else if (w->sleptother) ADD(w->otherblocked, b->before);
}

/* The coroutine that has run last waits: it alone is not among those that are
** drawn (mp_parked_read). */
static void count_left(watching *w, table *t, const sight *blocked)
{
  sight s = *blocked;
  s.blocked = NULL;
  w->blocked.parked.at = (mp_parkedat){ 0 };
  count_one(w, t, 1, &s);
}

/* Looks at the VM's own thread. */
static void look_blocked(watching *w, table *t, bool parked)
{
  mp_blocked *b = &w->blocked;
  sight s = { &b->parked, 0, GET(w->frees), b };
  entry *e = NULL;
  if (!mp_blocked_look(b, parked)) return;
  settle_blocked(w);
  if (!b->same) count_sleep(w, b->before + b->seconds);
  s.labels = b->labels;
  if (b->left) count_left(w, t, &s);
  if (b->placed) e = find_entry(t, &s);
  w->slept = e;
  w->sleptother = b->placed && e == NULL;
  if (e != NULL) add_blocked(e, b->seconds, b->variance);
  else if (b->placed) ADD(w->otherblocked, b->seconds);
}

/* The table is emptied, perhaps. */
static void forget_slept(watching *w)
{
  w->sleptother = w->sleptother || w->slept != NULL;
  w->slept = NULL;
}

static double draw(watching *w)
{
  w->random = w->random * UINT64_C(6364136223846793005) + 1;
  return (double)(w->random >> 32) / 4294967296.0;
}

/* Looks at coroutines, as many as are drawn. Returns whether any waits. */
static bool look_at(watching *w, table *t)
{
  uint32_t n = mp_coroutines_count(w->coroutines), i;
  uint32_t drawn = n < w->drawn ? n : w->drawn;
  double each = (double)n / (drawn > 0 ? drawn : 1);
  uintptr_t sp = mp_blocked_stack(&w->blocked);
  bool found = false;
  SET(w->one, each);
  for (i = 0; i < drawn; i++) {
    sight s = { &w->parked, 0, GET(w->frees), NULL };
    uint32_t at = n == drawn ? i :
		  (uint32_t)(((double)i + draw(w)) * n / drawn);
    const lua_State *L = mp_coroutines_at(w->coroutines, at, &s.labels);
    if (L == NULL || !mp_parked_read(w->vm, L, sp, &w->parked))
      continue;
    count_one(w, t, each, &s);
    found = true;
  }
  return found;
}

/* A short run needs many looks in little time; a long one has enough of them,
** and may be of a server that is profiled all the time. */
static void adapt_interval(watching *w, double cost, double seconds)
{
  double cpu = mp_clock_cpu(), least;
  w->cost += (cost - w->cost) / 16;
  if (seconds > 0) w->busy += ((cpu - w->cpu) / seconds - w->busy) / 16;
  w->cpu = cpu;
  if (GET(w->looks) < LOOKS_FIRST) return;
  least = w->cost / BUDGET;
  w->interval = least > INTERVAL_MAX * w->busy ? INTERVAL_MAX :
		least > INTERVAL * w->busy ? least / w->busy : INTERVAL;
}

/* As many are drawn as take the thread its share of a processor. */
static void adapt(watching *w, double cost)
{
  if (cost > INTERVAL * SHARE) w->drawn -= w->drawn / 8;
  else if (w->drawn < DRAWN_MAX) w->drawn += w->drawn / 8;
  if (w->drawn < DRAWN_MIN) w->drawn = DRAWN_MIN;
  if (w->drawn > DRAWN_MAX) w->drawn = DRAWN_MAX;
}

static double own_time(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* last: the VM's thread sleeps until this thread has ended, which may have come
** late. */
static void look(watching *w, bool last)
{
  double now = last ? w->stopped : mp_clock_wall(), begun = own_time();
  double seconds = now > w->last ? now - w->last : 0, cost;
  uint32_t use = GET(w->use);
  double theirs = part_of_last(w, seconds);
  bool parking;
  if (GET(w->looks) > 0) settle(w, seconds, theirs);
  else w->before = seconds;
  if (GET(w->used) != use) forget_slept(w);
  SET(w->used, use);
  ADD(w->looks, 1);
  parking = look_at(w, &w->tables[use]);
  if (!last) {
    look_blocked(w, &w->tables[use], parking);
  } else {
    settle(w, 0, 0);
    if (mp_blocked_last(&w->blocked, w->mine)) settle_blocked(w);
  }
  w->last = now;
  cost = own_time() - begun;
  adapt(w, cost);
  adapt_interval(w, cost, seconds);
}

/* Waits, for a time that nothing in the program is likely to follow. Returns
** whether the thread is to go on. */
static bool wait(watching *w)
{
  uint64_t ns = mp_seed_vary(&w->random, (uint64_t)(w->interval * 1e9));
  const struct timespec until = mp_thread_after(ns);
  bool stop;
  pthread_mutex_lock(&w->mutex);
  while (!w->stop &&
	 pthread_cond_timedwait(&w->cond, &w->mutex, &until) == 0)
    ;
  stop = w->stop;
  pthread_mutex_unlock(&w->mutex);
  mp_blocked_woke(&w->blocked, mp_clock_wall() - (double)until.tv_sec -
		  (double)until.tv_nsec * 1e-9);
  return !stop;
}

static void *run(void *arg)
{
  watching *w = arg;
  prctl(PR_SET_NAME, "luajit-mp");
  pthread_mutex_lock(&w->mutex);  /* Until the VM's thread has begun. */
  pthread_mutex_unlock(&w->mutex);
  mp_blocked_open(&w->blocked);
  mp_thread_brief();
  while (wait(w)) look(w, false);
  if (!w->quietly) look(w, true);
  mp_blocked_close(&w->blocked);
  return NULL;
}

/* -- Rows ----------------------------------------------------------------- */

#define UNKNOWN	"(stack not readable)"
#define OTHER	"(other)"
#define LOOP	"(event loop)"

/* The bit of a prototype in the filter. */
static uint64_t *filter_of(watching *w, const void *code, uint64_t *bit)
{
  uint64_t i = mp_mix(1, (uintptr_t)code) >> 32 & (FREED - 1);
  *bit = UINT64_C(1) << (i & 63);
  return &w->code[i / 64];
}

/* Puts the system call on top of the stack of a thread that sleeps. */
static void name_call(mp_capture *c, entry *e)
{
  if (!e->blocked || e->row == 0) return;
  e->row = mp_capture_above(c, e->row, mp_callname(e->call));
  if (e->loop && e->row != 0) e->row = mp_capture_above(c, e->row, LOOP);
}

static void make_row(watching *w, mp_capture *c, const table *t, entry *e)
{
  const mp_parkedframe *f = &t->frames[e->frame];
  uint64_t bit, *filter;
  mp_where at;
  uint32_t i;
  if (e->frees != GET(w->frees) || e->n == 0) {
    e->row = mp_capture_named(c, UNKNOWN, 'C');
    SET(e->stale, e->n != 0);  /* The next look makes another entry. */
    name_call(c, e);
    return;
  }
  mp_parked_show(w->view, c->vm, f, e->n, &e->at, &at);
  at.cut = e->cut;
  e->trace = at.trace;
  e->row = mp_capture_place(c, &at, e->labels, 'C');
  name_call(c, e);
  if (e->trace != NULL) {
    filter = filter_of(w, e->trace, &bit);
    *filter |= bit;
  }
  for (i = 0; i < e->n; i++) {
    filter = filter_of(w, f[i].code, &bit);
    *filter |= bit;
  }
}

static void make_rows(watching *w, mp_capture *c)
{
  table *t;
  for (t = w->tables; t < w->tables + 2; t++) {
    uint32_t n = GET(t->n);
    for (; t->made < n; t->made++) make_row(w, c, t, &t->entries[t->made]);
  }
}

static bool has_new(watching *w)
{
  const table *t = w->tables;
  return GET(t[0].n) != t[0].made || GET(t[1].n) != t[1].made;
}

/* A prototype is about to be freed, perhaps: another one with the same address
** is not to be taken for it. */
static void freeing(void *data, const void *block)
{
  watching *w = data;
  uint64_t bit, *filter = filter_of(w, block, &bit);
  table *t;
  uint32_t i, k;
  if (has_new(w)) make_rows(w, w->capture);
  ADD(w->frees, 1);
  if ((*filter & bit) == 0) return;
  for (t = w->tables; t < w->tables + 2; t++)
    for (i = 0; i < GET(t->n); i++) {
      entry *e = &t->entries[i];
      if (e->trace == block) SET(e->stale, true);
      for (k = 0; k < e->n; k++)
	if (t->frames[e->frame + k].code == block) SET(e->stale, true);
    }
}

/* Adds to a row; *counted is what was added before. */
static void add_to(mp_capture *c, uint32_t row, double seconds, double *counted)
{
  if (row == 0) return;
  c->counts->rows[row].waited += seconds - *counted;
  *counted = seconds;
}

/* The variance of an entry's seconds: looks differ, by what they draw, and as
** coroutines come and go together. Those that stand for unlike times are worth
** fewer of one length. Few tell little of how they differ, and one coroutine
** more might have been seen there. */
static double variance_of(watching *w, entry *e)
{
  double time = GET(w->time), times = GET(w->times), looks, one, mean, var;
  if (time <= 0 || times <= 0) return GET(e->squares);
  looks = time * time / times;
  one = time / looks * GET(w->one);
  mean = GET(e->seconds) / time;
  var = GET(e->squares) - 2 * mean * GET(e->ones) + mean * mean * times;
  var = (var > 0 ? var : 0) + one * one;
  return var * (looks > 4 ? looks / (looks - 3) : 4);
}

/* A sleep that is seen again has less of a variance than it had first. One more
** might have been seen there. */
static void count_blocked(watching *w, mp_capture *c, entry *e)
{
  double sleeps = GET(w->sleeps), seconds = GET(e->seconds);
  double one = sleeps > 0 ? GET(w->sleepsquares) / sleeps : 0;
  double var = GET(e->squares) + one;
  mp_row *r = &c->counts->rows[e->row];
  r->blocked += seconds - e->counted;
  r->blocked_variance += var - e->countedvar;
  if (r->blocked_variance < 0) r->blocked_variance = 0;  /* Another entry's. */
  e->counted = seconds;
  e->countedvar = var;
}

static void count_waiting(watching *w, mp_capture *c, entry *e)
{
  double var = variance_of(w, e);
  add_to(c, e->row, GET(e->seconds), &e->counted);
  c->counts->rows[e->row].waited_variance += var - e->countedvar;
  e->countedvar = var;
  if (GET(e->look) == GET(w->looks))
    c->counts->rows[e->row].waiting += GET(e->now);
}

static void count_entry(watching *w, mp_capture *c, entry *e)
{
  if (e->row == 0) e->row = mp_capture_named(c, UNKNOWN, 'C');
  if (e->row == 0) return;
  if (e->blocked) count_blocked(w, c, e);
  else count_waiting(w, c, e);
}

static bool is_nearly_full(const table *t)
{
  return GET(t->n) > ENTRIES * 3 / 4 || GET(t->nframes) > FRAMES * 3 / 4;
}

/* Has the thread use the other table, all of which has been counted. */
static void change_tables(watching *w)
{
  uint32_t use = GET(w->use);
  table *other = &w->tables[1 - use];
  if (GET(w->used) != use || !is_nearly_full(&w->tables[use])) return;
  memset(other->index, 0, sizeof(other->index));
  other->made = 0;
  SET(other->nframes, 0);
  SET(other->n, 0);
  SET(w->use, 1 - use);
}

static void count_otherblocked(watching *w, mp_capture *c)
{
  double seconds = GET(w->otherblocked);
  uint32_t row;
  if (seconds <= w->countedblocked) return;
  row = mp_capture_named(c, OTHER, 'C');
  if (row == 0) return;
  c->counts->rows[row].blocked += seconds - w->countedblocked;
  w->countedblocked = seconds;
}

/* Nobody waits now in the rows of these tables. Those of a table before have
** none: it had not been used for a while. */
static void forget_now(watching *w, mp_capture *c)
{
  table *t;
  uint32_t i;
  for (t = w->tables; t < w->tables + 2; t++)
    for (i = 0; i < t->made; i++) {
      uint32_t row = t->entries[i].row;
      if (row != 0) c->counts->rows[row].waiting = 0;
    }
}

void mp_waits_count(mp_waits *waits, mp_capture *c)
{
  watching *w = waits->watching;
  uint32_t i;
  table *t;
  if (w == NULL || mp_mem_denied()) return;
  make_rows(w, c);
  w->looked = GET(w->looks);
  forget_now(w, c);
  for (t = w->tables; t < w->tables + 2; t++)
    for (i = 0; i < t->made; i++) count_entry(w, c, &t->entries[i]);
  if (GET(w->other) > w->counted)
    add_to(c, mp_capture_named(c, OTHER, 'C'), GET(w->other), &w->counted);
  count_otherblocked(w, c);
  waits->blockedwhy = atomic_load_explicit(&w->blocked.why,
					   memory_order_relaxed);
  if (atomic_load_explicit(&w->blocked.zoned, memory_order_relaxed))
    waits->zoned = true;
  waits->seconds = GET(w->seconds);
  waits->time = GET(w->time);
  waits->looks = GET(w->looks);
  waits->seen = GET(w->seen);
  waits->coroutines = mp_coroutines_count(w->coroutines);
  waits->missed = w->coroutines->lost > 0;
  change_tables(w);
}

void mp_waits_look(mp_waits *waits, mp_capture *c)
{
  watching *w = waits->watching;
  if (w == NULL) return;
  if (!pthread_equal(w->here, pthread_self())) {
    w->here = pthread_self();
    mp_blocked_here(&w->blocked);
  }
  if (mp_mem_denied()) return;
  if (GET(w->looks) - w->looked >= LOOKS ||
      GET(w->tables[GET(w->use)].n) > ENTRIES * 3 / 4)
    mp_waits_count(waits, c);
  else if (has_new(w))
    make_rows(w, c);
}

/* -- Beginning and end ---------------------------------------------------- */

static int begin(watching *w)
{
  pthread_attr_t attr;
  int err;
  mp_thread_condition(&w->cond);
  pthread_mutex_init(&w->mutex, NULL);
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK);
  pthread_mutex_lock(&w->mutex);
  err = mp_thread_start(&w->thread, &attr, run, w);
  w->last = mp_clock_wall();
  w->here = pthread_self();
  mp_blocked_here(&w->blocked);
  pthread_mutex_unlock(&w->mutex);
  pthread_attr_destroy(&attr);
  return err;
}

static void free_watching(watching *w)
{
  mp_low_free(w->view, sizeof(*w->view));
  mp_free(w);
}

void mp_waits_start(mp_waits *waits, mp_capture *c,
		    const mp_coroutines *coroutines)
{
  watching *w = coroutines != NULL ? mp_calloc(1, sizeof(*w)) : NULL;
  if (w == NULL || (w->view = mp_low_alloc(sizeof(*w->view))) == NULL) {
    mp_free(w);
    waits->why = "there was no memory";
    return;
  }
  w->capture = c;
  w->vm = c->vm;
  w->coroutines = coroutines;
  w->drawn = DRAWN_MIN;
  w->interval = INTERVAL;
  w->random = mp_seed();
  mp_blocked_init(&w->blocked, c->vm, coroutines, c->zonetable);
  if (begin(w) != 0) {
    waits->why = "there could be no other thread";
    free_watching(w);
    return;
  }
  waits->watching = w;
  c->freeing = freeing;
  c->freeingdata = w;
}

static void end(watching *w, bool quietly)
{
  w->stopped = mp_clock_wall();
  if (pthread_equal(w->here, pthread_self())) w->mine = mp_asleep_mine();
  pthread_mutex_lock(&w->mutex);
  w->stop = true;
  w->quietly = quietly;
  pthread_cond_signal(&w->cond);
  pthread_mutex_unlock(&w->mutex);
  pthread_join(w->thread, NULL);
}

static void forget(mp_waits *waits, mp_capture *c)
{
  free_watching(waits->watching);
  waits->watching = NULL;
  c->freeing = NULL;
}

void mp_waits_stop(mp_waits *waits, mp_capture *c)
{
  if (waits->watching == NULL) return;
  end(waits->watching, false);
  mp_waits_count(waits, c);
  forget(waits, c);
}

void mp_waits_drop(mp_waits *waits, mp_capture *c)
{
  if (waits->watching == NULL) return;
  end(waits->watching, true);
  forget(waits, c);
}

void mp_waits_forked(mp_waits *waits, mp_capture *c)
{
  if (waits->watching == NULL) return;
  forget(waits, c);
  waits->why = "the process was forked";
}

#else

void mp_waits_start(mp_waits *waits, mp_capture *c,
		    const mp_coroutines *coroutines)
{
  (void)waits; (void)c; (void)coroutines;
}

void mp_waits_stop(mp_waits *waits, mp_capture *c) { (void)waits; (void)c; }
void mp_waits_drop(mp_waits *waits, mp_capture *c) { (void)waits; (void)c; }
void mp_waits_forked(mp_waits *waits, mp_capture *c) { (void)waits; (void)c; }
void mp_waits_count(mp_waits *waits, mp_capture *c) { (void)waits; (void)c; }
void mp_waits_look(mp_waits *waits, mp_capture *c) { (void)waits; (void)c; }

#endif
