/*
** Points of the course of the run (data/course.h): what time it is, and how
** high the heap stands.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "profile/ctx.h"

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

void mp_point_begin(mp_ctx *c)
{
  c->pid = getpid();
  c->thread = pthread_self();
  c->cpu0 = mp_timer_cpu();
  c->wall0 = mp_timer_wall();
  c->started_at = (double)time(NULL);
}

void mp_point_take(mp_ctx *c, bool must)
{
  double wall = mp_timer_wall() - c->wall0;
  mp_point p;
  int saved;
  c->now = (uint32_t)(wall * 1000);
  if (!must && (c->frozen || !mp_course_due(&c->course, wall))) return;
  saved = errno;
  p.wall = wall;
  p.cpu = mp_timer_cpu() - c->cpu0;
  p.allocated = mp_alloc_bytes(c);
  p.inuse = mp_alloc_inuse(c);
  p.cycles = c->cycles;
  p.phase = c->vm.proved ? mp_vm_phase(&c->vm) : '?';
  p.rss = resident();
  mp_course_add(&c->course, &p, &c->counts);
  errno = saved;
}
