/* SPDX-License-Identifier: MIT */
/*
** See attach/copy.h.
*/
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/copy.h"
#include "attach/present.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PIECE	(UINT64_C(64) << 20)	/* Bytes that are read at a time. */

/* Whether the VM may have memory there; or the stack of its thread, where the
** interpreter notes its place. */
static bool is_wanted(const mp_mapping *a, uint64_t last)
{
  return a->readable && a->writable && a->inode == 0 && a->to - 1 <= last &&
	 (a->path[0] != '[' || strcmp(a->path, "[stack]") == 0);
}

/* Calls f for each piece that the process has in that way. */
static void each(const mp_maps *m, const mp_mapping *a, mp_where where,
		 void (*f)(const mp_maps *m, uint64_t from, uint64_t to,
			   void *data), void *data)
{
  uint64_t at = a->from, end, to;
  mp_present p;
  mp_present_open(&p, m->pid, where);
  while (p.fd >= 0 && (end = mp_present_next(&p, &at, a->to)) != 0) {
    for (; at < end; at = to) {
      to = end - at < PIECE ? end : at + PIECE;
      f(m, at, to, data);
    }
  }
  mp_present_close(&p);
}

static void count(const mp_maps *m, uint64_t from, uint64_t to, void *data)
{
  (void)m;
  *(uint64_t *)data += to - from;
}

uint64_t mp_copy_size(const mp_maps *m, uint64_t last)
{
  uint64_t size = 0;
  int i;
  for (i = 0; i < m->n; i++) {
    if (!is_wanted(&m->list[i], last)) continue;
    each(m, &m->list[i], MP_IN_MEMORY, count, &size);
    each(m, &m->list[i], MP_SWAPPED, count, &size);
  }
  return size;
}

/* Another thread of the process may have given some of it back. */
static void copy(const mp_maps *m, uint64_t from, uint64_t to, void *data)
{
  (void)data;
  mp_remote_read(m->pid, (void *)(uintptr_t)from, from, (size_t)(to - from));
}

const char *mp_copy_memory(const mp_maps *m, uint64_t last)
{
  int i;
  for (i = 0; i < m->n; i++) {
    const mp_mapping *a = &m->list[i];
    void *want = (void *)(uintptr_t)a->from, *got;
    if (!is_wanted(a, last)) continue;
    got = mmap(want, (size_t)(a->to - a->from), PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
	       MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED && errno != EEXIST)
      return "there is no memory for a copy of its heap";
    if (got != want)
      return "it has memory at addresses where luajit-mp has its own: try "
	     "again";
    each(m, a, MP_IN_MEMORY, copy, NULL);
    each(m, a, MP_SWAPPED, copy, NULL);
  }
  return NULL;
}
