/* SPDX-License-Identifier: MIT */
/*
** See attach/copy.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "attach/copy.h"
#include "attach/present.h"
#include "attach/room.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PIECE	(UINT64_C(64) << 20)	/* Bytes that are read at a time. */

#define STACK	(UINT64_C(12) << 20)	/* Most are of 8 MB, or smaller. */

#define LOW	(UINT64_C(1) << 32)	/* Addresses below are asked for. */

static const char no_memory[] = "there is no memory for a copy of its heap";
static const char is_taken[] =
  "it has memory at addresses where luajit-mp has its own: try again";
static const char is_always_taken[] =
  "it has memory at addresses where luajit-mp has its own: start luajit-mp "
  "with randomized addresses (without setarch -R; see randomize_va_space in "
  "proc(5))";

/* Whether the VM may have memory there; or a stack may be there, on which the
** interpreter notes its place, and to which no reference of the VM leads: that
** of the first thread, of another one, or what a host has for each fiber. */
static bool is_wanted(const mp_mapping *a, uint64_t last)
{
  if (!a->readable || !a->writable || a->inode != 0) return false;
  if (a->path[0] == '[') return strcmp(a->path, "[stack]") == 0;
  return a->to - 1 <= last || a->to - a->from <= STACK;
}

/* -- Our own memory ------------------------------------------------------ */

/* Whether it is the rest of what the program or a library has for its variables
** (.bss), perhaps together with other memory. */
static bool is_behind_file(const mp_maps *m, int i)
{
  return i > 0 && m->list[i].inode == 0 && m->list[i - 1].inode != 0 &&
	 m->list[i - 1].to == m->list[i].from;
}

/* Whether we can do without it: without GC64, a Lua heap is at addresses that
** nothing else of ours is at but what belongs to a file, or has a name. */
static bool is_lua_heap(const mp_maps *own, int i)
{
  const mp_mapping *a = &own->list[i];
  return sizeof(void *) > 4 && a->to <= LOW && a->inode == 0 &&
	 a->path[0] == '\0' && !is_behind_file(own, i);
}

/* Whether there is some between these addresses that we cannot do without. */
static bool is_needed(const mp_maps *own, uint64_t from, uint64_t to)
{
  int i;
  for (i = 0; i < own->n; i++)
    if (own->list[i].from < to && own->list[i].to > from &&
	!is_lua_heap(own, i))
      return true;
  return false;
}

/* -- The addresses ------------------------------------------------------- */

static bool has_range(const mp_copy *c, const mp_mapping *a)
{
  int i;
  for (i = 0; i < c->n; i++)
    if (c->list[i].from < a->to && c->list[i].to > a->from) return true;
  return false;
}

/* Two processes of one program may have its variables at the same addresses.
** No heap is in these. */
static bool is_own(const mp_copy *old, const mp_maps *own, const mp_maps *m,
		   int i)
{
  return is_behind_file(m, i) && !has_range(old, &m->list[i]) &&
	 is_needed(own, m->list[i].from, m->list[i].to);
}

/* old: the copy that there is; own: that, and our own memory. */
static bool list_ranges(mp_copy *c, const mp_copy *old, const mp_maps *own,
			const mp_maps *m, uint64_t last)
{
  int i;
  *c = (mp_copy){ mp_room(malloc((size_t)(m->n + 1) * sizeof(*c->list))), 0,
		  0 };
  for (i = 0; c->list != NULL && i < m->n; i++)
    if (is_wanted(&m->list[i], last) && !is_own(old, own, m, i))
      c->list[c->n++] = (mp_range){ m->list[i].from, m->list[i].to };
  return c->list != NULL;
}

/* The reason, where our own memory is. Another run of ours has it elsewhere,
** but where the kernel always chooses the same addresses. */
static const char *why_taken(void)
{
  int p = personality(0xffffffff), fd;
  const char *why = is_taken;
  char c;
  if (p != -1 && (p & ADDR_NO_RANDOMIZE) != 0) return is_always_taken;
  fd = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return why;
  if (read(fd, &c, 1) == 1 && c == '0') why = is_always_taken;
  close(fd);
  return why;
}

static void *map(uint64_t from, uint64_t to, int flags)
{
  return mmap((void *)(uintptr_t)from, (size_t)(to - from), PROT_READ |
	      PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags,
	      -1, 0);
}

/* The kernel may be too old for MAP_FIXED_NOREPLACE. */
static const char *take(uint64_t from, uint64_t to)
{
  void *got = map(from, to, MAP_FIXED_NOREPLACE);
  mp_maps own;
  bool needed;
  if (got == (void *)(uintptr_t)from) return NULL;
  if (got == MAP_FAILED && errno != EEXIST) return no_memory;
  if (got != MAP_FAILED) munmap(got, (size_t)(to - from));
  needed = mp_maps_read(&own, getpid()) != 0 || is_needed(&own, from, to);
  mp_maps_free(&own);
  if (needed) return why_taken();
  return map(from, to, MAP_FIXED) != MAP_FAILED ? NULL : no_memory;
}

static const char *give(uint64_t from, uint64_t to)
{
  munmap((void *)(uintptr_t)from, (size_t)(to - from));
  return NULL;
}

/* Calls f for what `a` has and `b` has not, until f tells a reason, which is
** returned. */
static const char *each_other(const mp_copy *a, const mp_copy *b,
			      const char *(*f)(uint64_t from, uint64_t to))
{
  const char *why = NULL;
  int i, k = 0;
  for (i = 0; i < a->n && why == NULL; i++) {
    uint64_t at = a->list[i].from, to = a->list[i].to;
    while (k < b->n && b->list[k].to <= at) k++;
    for (; k < b->n && b->list[k].from < to && why == NULL; k++) {
      if (b->list[k].from > at) why = f(at, b->list[k].from);
      at = b->list[k].to;
      if (at >= to) break;
    }
    if (at < to && why == NULL) why = f(at, to);
  }
  return why;
}

/* -- Their contents ------------------------------------------------------ */

/* For the memory of a range: f takes each piece that the process has, and g, or
** nobody, all between these. */
typedef struct visitor {
  void (*f)(const mp_maps *m, uint64_t from, uint64_t to, uint64_t *sum);
  void (*g)(uint64_t from, uint64_t to);
} visitor;

static void visit(const mp_maps *m, mp_present *p, const mp_range *r,
		  const visitor *v, uint64_t *sum)
{
  uint64_t at = r->from, done = at, end, to;
  while ((end = mp_present_next(p, &at, r->to)) != 0) {
    if (at > done && v->g != NULL) v->g(done, at);
    for (; at < end; at = to) {
      to = end - at < PIECE ? end : at + PIECE;
      v->f(m, at, to, sum);
    }
    done = at;
  }
  if (done < r->to && v->g != NULL) v->g(done, r->to);
}

/* The same with all ranges; of what is in memory, or swapped. Returns the
** sum. */
static uint64_t visit_all(const mp_maps *m, const mp_copy *c, mp_where where,
			  const visitor *v)
{
  uint64_t sum = 0;
  mp_present p;
  int i;
  mp_present_open(&p, m->pid, where);
  for (i = 0; i < c->n && p.fd >= 0; i++) visit(m, &p, &c->list[i], v, &sum);
  mp_present_close(&p);
  return sum;
}

static void count(const mp_maps *m, uint64_t from, uint64_t to, uint64_t *sum)
{
  (void)m;
  *sum += to - from;
}

uint64_t mp_copy_size(const mp_maps *m, uint64_t last)
{
  const visitor v = { count, NULL };
  const mp_copy none = { NULL, 0, 0 };
  const mp_maps nothing = { 0, NULL, 0 };
  uint64_t size = 0;
  mp_copy all;
  if (list_ranges(&all, &none, &nothing, m, last))
    size = visit_all(m, &all, MP_IN_MEMORY, &v) +
	   visit_all(m, &all, MP_SWAPPED, &v);
  mp_copy_forget(&all);
  return size;
}

/* Another thread of the process may have given some of it back. */
static void copy(const mp_maps *m, uint64_t from, uint64_t to, uint64_t *sum)
{
  *sum += to - from;
  mp_remote_read(m->pid, (void *)(uintptr_t)from, from, (size_t)(to - from));
}

static void empty(uint64_t from, uint64_t to)
{
  madvise((void *)(uintptr_t)from, (size_t)(to - from), MADV_DONTNEED);
}

const char *mp_copy_make(mp_copy *c, const mp_maps *m, uint64_t last)
{
  const visitor all = { copy, empty }, others = { copy, NULL };
  const char *why;
  mp_maps own;
  mp_copy now;
  bool listed = mp_maps_read(&own, getpid()) == 0 &&
		list_ranges(&now, c, &own, m, last);
  mp_maps_free(&own);
  if (!listed) return no_memory;
  each_other(c, &now, give);
  why = each_other(&now, c, take);
  mp_copy_forget(c);
  *c = now;
  if (why != NULL) return why;
  c->bytes = visit_all(m, c, MP_IN_MEMORY, &all);
  c->bytes += visit_all(m, c, MP_SWAPPED, &others);
  return NULL;
}

void mp_copy_forget(mp_copy *c)
{
  free(c->list);
  *c = (mp_copy){ NULL, 0, 0 };
}
