/* SPDX-License-Identifier: MIT */
/*
** What is known of LuaJIT's builds of one kind: in GC64 mode, or with
** references of 32 bits (vm/layout.h). attach/find, attach/leave and
** attach/stack are compiled for each kind that the processor has.
*/
#ifndef MP_KIND_H
#define MP_KIND_H

#include "attach/find.h"
#include "attach/leave.h"
#include "attach/stack.h"

typedef struct mp_kind {
  const char *core;		/* The module's file. */
  uint64_t last;		/* The last address that a reference has. */
  int (*states)(const mp_maps *m, uint64_t own, mp_found *list,
		const volatile int *end);
  uint64_t (*resting)(const mp_maps *m, const mp_found *state,
		      const mp_mapping *vm, uint64_t sp, uint64_t link,
		      bool *idle);
  uint64_t (*cframe)(pid_t pid, const mp_found *state);
  bool (*leave)(const mp_code *c, const mp_found *state, mp_tracee *t,
		double seconds);
  uint64_t (*running)(pid_t pid, const mp_found *state);
  mp_far_place (*stack)(const mp_maps *m, const mp_found *state,
			uint64_t running, mp_tracee *t, mp_far_stack *s);
  int (*functions)(pid_t pid, const mp_found *state, mp_far_function *list);
} mp_kind;

extern const mp_kind mp_kind_gc64, mp_kind_refs32;

#endif
