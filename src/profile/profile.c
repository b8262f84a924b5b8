/* SPDX-License-Identifier: MIT */
/*
** See profile/profile.h.
*/
#include "config.h"

#include <string.h>

#include "profile/profile.h"

void mp_profile_init(mp_profile *p, const mp_alloc_owner *owner)
{
  mp_alloc_owner mine = *owner;
  mp_alloc *heap = p->heap;
  memset(p, 0, sizeof(*p));
  p->heap = heap;
  mp_counts_init(&p->counts);
  mp_course_init(&p->course);
  mine.capture = &p->capture;
  mine.cpu = &p->cpu;
  mp_alloc_init(heap, &mine);
  p->cpu.capture = &p->capture;
  p->calls.capture = &p->capture;
  p->calls.cpu = &p->cpu;
  p->compiler.capture = &p->capture;
  p->compiler.cpu = &p->cpu;
}

#define CACHE_SAMPLING	(1u << 12)	/* Rows cached by key of a stack. */
#define CACHE_EXACT	(1u << 16)

bool mp_profile_open(mp_profile *p)
{
  const mp_alloc_options *wants = mp_alloc_wants(p->heap);
  uint32_t cache = wants->period == 1 ? CACHE_EXACT : CACHE_SAMPLING;
  if (!mp_alloc_open(p->heap, p->limit) ||
      !mp_capture_init(&p->capture, mp_alloc_vm(p->heap), &p->counts, cache))
    return false;
  p->capture.lines = p->cpu.lines;
  p->capture.traces = wants->events && p->compiler.on;  /* misc.memprof's. */
  p->capture.types = wants->types ? MP_TYPES_ALL :
		     wants->events ? MP_TYPES_VM : 0;
  mp_capture_limit(&p->capture, p->limit, p->reportlimit);
  return true;
}

void mp_profile_close(mp_profile *p)
{
  mp_waits_drop(&p->waits, &p->capture);
  mp_alloc_close(p->heap);
  mp_compiler_free(&p->compiler);
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
  mp_alloc_restart(p->heap);
  mp_compiler_restart(&p->compiler);
  mp_span_begin(&p->span);
  mp_cpu_restart(&p->cpu);
}
