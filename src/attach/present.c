/* SPDX-License-Identifier: MIT */
/*
** See attach/present.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attach/present.h"

#define PAGE	4096
#define ENTRIES	8192		/* Entries of the map that are read at once. */
#define PRESENT	(UINT64_C(1) << 63) /* In an entry. */
#define SWAPPED	(UINT64_C(1) << 62)

/* The kernel's interface from Linux 6.7 on. */
typedef struct scan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t inverted, mask, any, returned;
} scan;

typedef struct region {
  uint64_t start, end, categories;
} region;

#define SCAN	_IOWR('f', 16, scan)
#define IS_PRESENT 8
#define IS_SWAPPED 16
#define IS_ZERO	32		/* The page that all untouched ones share. */

void mp_present_open(mp_present *p, pid_t pid, mp_where where)
{
  char name[64];
  snprintf(name, sizeof(name), "/proc/%ld/pagemap", (long)pid);
  p->fd = open(name, O_RDONLY | O_CLOEXEC);
  p->scans = true;
  p->where = where;
}

void mp_present_close(mp_present *p)
{
  if (p->fd >= 0) close(p->fd);
  p->fd = -1;
}

/* False: this kernel has no such call. */
static bool scan_next(mp_present *p, uint64_t *from, uint64_t to,
		      uint64_t *found)
{
  region r = { 0, 0, 0 };
  scan s;
  int n;
  memset(&s, 0, sizeof(s));
  s.size = sizeof(s);
  s.start = *from;
  s.end = to;
  s.vec = (uintptr_t)&r;
  s.vec_len = 1;
  s.mask = p->where == MP_IN_MEMORY ? IS_PRESENT | IS_ZERO : IS_SWAPPED;
  s.inverted = p->where == MP_IN_MEMORY ? IS_ZERO : 0;
  s.returned = s.mask;
  n = ioctl(p->fd, SCAN, &s);
  *found = n > 0 ? r.end : 0;
  if (n > 0) *from = r.start;
  if (n < 0 && errno == EINTR) *found = *from;
  return n >= 0 || errno == EINTR;
}

static uint64_t read_next(mp_present *p, uint64_t *from, uint64_t to)
{
  static uint64_t entries[ENTRIES];
  uint64_t flag = p->where == MP_IN_MEMORY ? PRESENT : SWAPPED;
  uint64_t pages = (to - *from) / PAGE;
  ssize_t got, i = 0, end;
  if (pages > ENTRIES) pages = ENTRIES;
  got = pread(p->fd, entries, pages * sizeof(entries[0]),
	      (off_t)(*from / PAGE * sizeof(entries[0])));
  if (got <= 0) return 0;
  got /= (ssize_t)sizeof(entries[0]);
  while (i < got && (entries[i] & flag) == 0) i++;
  for (end = i; end < got && (entries[end] & flag) != 0; end++) ;
  *from += (uint64_t)i * PAGE;
  return *from + (uint64_t)(end - i) * PAGE;
}

uint64_t mp_present_next(mp_present *p, uint64_t *from, uint64_t to)
{
  uint64_t found;
  if (*from >= to) return 0;
  if (p->fd < 0) return p->where == MP_IN_MEMORY ? to : 0;
  if (p->scans && scan_next(p, from, to, &found)) return found;
  p->scans = false;
  return read_next(p, from, to);
}
