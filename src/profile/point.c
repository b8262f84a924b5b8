/* SPDX-License-Identifier: MIT */
/*
** See profile/point.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/clock.h"
#include "data/lock.h"
#include "profile/point.h"

/* Bytes of this process in memory, as the kernel counts them; 0: unknown. No
** file is kept open: the program may close all of its own. */
static size_t resident(void)
{
  char buf[128], *end;
  ssize_t n;
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  n = read(fd, buf, sizeof(buf) - 1);
  close(fd);
  if (n <= 0) return 0;
  buf[n] = '\0';
  strtoul(buf, &end, 10);  /* The first number is the size in pages. */
  return strtoul(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static void add_point(mp_profile *p, double wall)
{
  int saved = errno;
  mp_point pt;
  pt.wall = wall;
  pt.cpu = p->span.ended ? p->span.cpu1 : mp_cpu_time(&p->cpu);
  pt.allocated = mp_alloc_bytes(p->heap);
  pt.inuse = mp_alloc_inuse(p->heap);
  pt.cycles = mp_alloc_cycles(p->heap);
  pt.phase = mp_alloc_sees(p->heap) ?
	     mp_vm_phase(mp_alloc_vm(p->heap)) : '?';
  pt.rss = resident();
  mp_lock();  /* Points that are merged are for no other thread to see. */
  mp_course_add(&p->course, &pt, &p->counts);
  mp_unlock();
  errno = saved;
}

/* The time of the run, which the heap sampler gets, too. */
static double tell_time(mp_profile *p)
{
  double wall = mp_span_wall(&p->span);
  mp_alloc_at(p->heap, wall);
  return wall;
}

void mp_point_take(mp_profile *p)
{
  double wall = tell_time(p);
  if (!mp_alloc_frozen(p->heap) && mp_course_due(&p->course, wall))
    add_point(p, wall);
}

void mp_point_force(mp_profile *p)
{
  mp_waits_count(&p->waits, &p->capture);
  mp_course_demand(&p->course);
  add_point(p, tell_time(p));
}
