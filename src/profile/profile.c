/* SPDX-License-Identifier: MIT */
/*
** See profile/profile.h.
*/
#include "config.h"

#include <string.h>

#include "profile/profile.h"

void mp_profile_init(mp_profile *p)
{
  lua_Alloc f = p->heap.allocf;
  void *ud = p->heap.allocd;
  memset(p, 0, sizeof(*p));
  mp_counts_init(&p->counts);
  mp_course_init(&p->course);
  mp_alloc_init(&p->heap, f, ud);
  p->heap.capture = &p->capture;
  p->heap.cpu = &p->cpu;
  p->cpu.capture = &p->capture;
  p->calls.capture = &p->capture;
  p->calls.cpu = &p->cpu;
}

#define CACHE_SAMPLING	(1u << 12)	/* Rows cached by key of a stack. */
#define CACHE_EXACT	(1u << 16)

bool mp_profile_open(mp_profile *p)
{
  if (!mp_live_init(&p->heap.live, p->heap.exact) ||
      !mp_capture_init(&p->capture, &p->heap.vm, &p->counts,
		       p->heap.exact ? CACHE_EXACT : CACHE_SAMPLING))
    return false;
  p->capture.lines = p->cpu.lines;
  p->capture.types = p->heap.wants_types ? MP_TYPES_ALL :
		     p->heap.wants_events ? MP_TYPES_VM : 0;
  mp_capture_limit(&p->capture, p->limit, p->reportlimit);
  p->heap.events.limit = p->limit;
  return true;
}

void mp_profile_close(mp_profile *p)
{
  mp_alloc_close(&p->heap);
  mp_capture_free(&p->capture);
  mp_counts_free(&p->counts);
  mp_course_free(&p->course);
  mp_origin_free(&p->origin);
}

void mp_profile_restart(mp_profile *p)
{
  memset(&p->notes, 0, sizeof(p->notes));
  mp_counts_restart(&p->counts);
  mp_course_free(&p->course);
  mp_alloc_restart(&p->heap);
  mp_span_begin(&p->span);
  mp_cpu_restart(&p->cpu);
}
