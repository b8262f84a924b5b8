/* SPDX-License-Identifier: MIT */
/*
** See profile/memory.h; the fields are documented in luajit-mp(5).
*/
#include "config.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "data/mem.h"
#include "data/smaps.h"
#include "profile/field.h"
#include "profile/memory.h"
#include "vm/arena.h"

#define DIRECT	(128.0 * 1024)	/* Blocks from here on are no chunks. */
#define PINNED	(64u << 10)	/* Free bytes that are worth a look. */

static double positive(double n) { return n > 0 ? n : 0; }
static double least(double a, double b) { return a < b ? a : b; }

/* -- LuaJIT's allocator -------------------------------------------------- */

typedef struct looking {
  double resident;		/* Of all segments. */
  mp_segment *list;		/* Those that are at least half free. */
  uint32_t n, cap;
  uint32_t all;
} looking;

static void see_segment(void *data, const mp_segment *s)
{
  looking *k = data;
  k->all++;
  k->resident += (double)mp_smaps_resident(s->base, s->size);
  if (s->free < PINNED || s->free < s->size / 2) return;
  if (!mp_mem_room(&k->list, k->n, &k->cap, sizeof(*k->list))) return;
  k->list[k->n++] = *s;
}

static int by_base(const void *a, const void *b)
{
  const mp_segment *x = a, *y = b;
  return x->base < y->base ? -1 : x->base > y->base;
}

/* Looks at the allocator of a state. False: it is not known. */
static bool look_arena(mp_memory *m, looking *k, lua_Alloc f, void *ud)
{
  mp_arena a;
  double direct;
  uint32_t i;
  if (!mp_arena_each(f, ud, &a, see_segment, k)) return false;
  direct = m->lua - (double)(a.used - MP_ARENA_HEAD * a.chunks);
  if (direct < DIRECT) direct = 0;
  m->lua_free = positive(k->resident - (double)a.used);
  m->lua_heads = positive((double)a.used + direct - m->lua);
  m->segments = k->all;
  m->largest_free = (double)a.largest;
  m->pinned = k->n;
  for (i = 0; i < k->n; i++) {
    m->pinned_free += (double)k->list[i].free;
    m->pinned_used += (double)k->list[i].used;
  }
  if (k->n > 0) qsort(k->list, k->n, sizeof(*k->list), by_base);
  return true;
}

/* -- Rows whose objects lie in nearly empty segments --------------------- */

typedef struct pinning {
  const mp_profile *p;
  const looking *k;
  mp_pin *rows;			/* By row. */
} pinning;

static bool is_within(const looking *k, const char *addr)
{
  uint32_t from = 0, to = k->n;
  while (from < to) {
    uint32_t i = (from + to) / 2;
    if (addr < k->list[i].base) to = i;
    else if (addr >= k->list[i].base + k->list[i].size) from = i + 1;
    else return true;
  }
  return false;
}

static void see_object(void *data, const void *addr, const mp_sample *s)
{
  pinning *q = data;
  if (s->row > q->p->counts.nrows || !is_within(q->k, addr)) return;
  q->rows[s->row].row = s->row;
  q->rows[s->row].objects += s->objects;
  q->rows[s->row].bytes += s->objects * (double)s->size;
}

static int by_bytes(const void *a, const void *b)
{
  const mp_pin *x = a, *y = b;
  return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* At b1 only the row of an object is known, not its size. */
static void find_pins(const mp_profile *p, mp_memory *m, const looking *k)
{
  pinning q = { p, k, NULL };
  uint32_t i, n = 0, rows = p->counts.nrows;
  if (k->n == 0 || !mp_alloc_has_records(p->heap)) return;
  q.rows = mp_calloc((size_t)rows + 1, sizeof(*q.rows));
  if (q.rows == NULL) return;
  mp_alloc_each(p->heap, see_object, &q);
  for (i = 1; i <= rows; i++)
    if (q.rows[i].row != 0) q.rows[n++] = q.rows[i];
  if (n > 0) qsort(q.rows, n, sizeof(*q.rows), by_bytes);
  m->pins = q.rows;
  m->npins = n;
}

/* -- malloc -------------------------------------------------------------- */

/* Whether malloc is the C library's: another one has no such numbers. */
static bool malloc_is_known(void)
{
#ifdef HAVE_MALLINFO2
  Dl_info m, c;
  void *used = dlsym(RTLD_DEFAULT, "realloc");
  void *known = dlsym(RTLD_DEFAULT, "mallinfo2");
  return used != NULL && known != NULL && dladdr(used, &m) != 0 &&
	 dladdr(known, &c) != 0 && m.dli_fbase == c.dli_fbase;
#else
  return false;
#endif
}

/* left: anonymous memory that belongs to malloc or is unknown. own: the
** profiler's blocks, whose pages are in memory only once they were touched. */
static void look_malloc(mp_memory *m, const mp_smaps *s, double own,
			double left)
{
  double used = 0, mapped = 0;
#ifdef HAVE_MALLINFO2
  struct mallinfo2 i = mallinfo2();
  used = (double)i.uordblks + (double)i.hblkhd;
  mapped = positive((double)i.arena - (double)s->heap_size) +
	   (double)i.hblkhd;
#endif
  mapped = least(mapped, positive(left));
  used = least(used, (double)s->heap + mapped);
  own = least(own, used);
  m->profiler += own;
  m->malloc_used = used - own;
  m->malloc_free = (double)s->heap + mapped - used;
  m->other = left - mapped;
}

static void look_mixed(mp_memory *m, double own, double left)
{
  own = least(own, positive(left));
  m->profiler += own;
  m->mixed = left - own;
}

/* -- All of it ----------------------------------------------------------- */

static const char *own_file(void)
{
  static const char here;
  Dl_info info;
  return dladdr(&here, &info) != 0 ? info.dli_fname : NULL;
}

/* Of the private state. */
static double look_own(const mp_memory_of *own)
{
  looking k = { .resident = 0 };
  mp_arena a;
  mp_arena_each(own->f, own->ud, &a, see_segment, &k);
  mp_free(k.list);
  return k.resident;
}

/* PARTLY: LuaJIT's allocator is at work, and its segments cannot be walked. */
typedef enum extent { PARTLY, WHOLE } extent;

static void add_up(mp_profile *p, mp_memory *m, const mp_smaps *s,
		   const mp_memory_of *state, extent e)
{
  double own = (double)(mp_mem_bytes + sizeof(*p) + mp_alloc_memory());
  double ours = look_own(state);
  double left = (double)s->anonymous - ours;
  double tags = (double)mp_alloc_tagging(p->heap);
  void *ud;
  lua_Alloc f = mp_alloc_original(p->heap, &ud);
  looking k = { .resident = 0 };
  m->rss = (double)s->rss;
  m->files = (double)s->files;
  m->code = (double)s->code;
  m->stacks = (double)s->stacks;
  m->lua = (double)mp_alloc_inuse(p->heap);
  m->arena = e == WHOLE && look_arena(m, &k, f, ud);
  m->malloc = m->arena && malloc_is_known();
  m->profiler = ours + (double)s->own;
  if (m->arena) {
    left -= m->lua + m->lua_free + m->lua_heads;
    tags = least(tags, m->lua_heads);
    m->lua_heads -= tags;
    m->profiler += tags;
  }
  if (m->malloc)
    look_malloc(m, s, own, left);
  else
    look_mixed(m, own, left + (double)s->heap - (m->arena ? 0 : m->lua));
  find_pins(p, m, &k);
  mp_free(k.list);
}

static void take(mp_profile *p, const mp_memory_of *own, extent e)
{
  mp_memory *m;
  mp_smaps s;
  mp_memory_drop(p);
  m = mp_calloc(1, sizeof(*m));
  if (m == NULL) return;
  m->known = mp_smaps_read(&s, own_file());
  if (m->known) add_up(p, m, &s, own, e);
  p->memory = m;
}

void mp_memory_take(mp_profile *p, const mp_memory_of *own)
{
  take(p, own, WHOLE);
}

void mp_memory_take_partly(mp_profile *p, const mp_memory_of *own)
{
  take(p, own, PARTLY);
}

void mp_memory_drop(mp_profile *p)
{
  if (p->memory == NULL) return;
  mp_free(p->memory->pins);
  mp_free(p->memory);
  p->memory = NULL;
}

/* -- As a table ---------------------------------------------------------- */

void mp_memory_push(lua_State *L, const mp_memory *m)
{
  lua_createtable(L, 0, 16);
  if (!m->known) return;
  mp_field(L, "rss", m->rss);
  mp_field(L, "lua", m->lua);
  mp_field(L, "code", m->code);
  mp_field(L, "stacks", m->stacks);
  mp_field(L, "files", m->files);
  mp_field(L, "profiler", m->profiler);
  if (m->arena) {
    mp_field(L, "lua_free", m->lua_free);
    mp_field(L, "lua_heads", m->lua_heads);
    mp_field(L, "segments", m->segments);
    mp_field(L, "largest_free", m->largest_free);
    mp_field(L, "pinned", m->pinned);
    mp_field(L, "pinned_free", m->pinned_free);
    mp_field(L, "pinned_used", m->pinned_used);
  }
  if (m->malloc) {
    mp_field(L, "malloc_used", m->malloc_used);
    mp_field(L, "malloc_free", m->malloc_free);
    mp_field(L, "other", m->other);
  } else {
    mp_field(L, "mixed", m->mixed);
  }
}

void mp_memory_push_pins(lua_State *L, const mp_memory *m)
{
  uint32_t i;
  lua_createtable(L, (int)m->npins, 0);
  for (i = 0; i < m->npins; i++) {
    lua_createtable(L, 0, 3);
    mp_field(L, "row", m->pins[i].row);
    mp_field(L, "objects", m->pins[i].objects);
    mp_field(L, "bytes", m->pins[i].bytes);
    lua_rawseti(L, -2, (int)i + 1);
  }
}
