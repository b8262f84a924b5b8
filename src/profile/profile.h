/* SPDX-License-Identifier: MIT */
/*
** One profile: both samplers of a VM and what they have counted.
**
** All memory comes from malloc, never from the profiled Lua heap. Only the
** thread that runs the VM changes a profile. The thread that ends the process
** may read it, under the lock.
*/
#ifndef MP_PROFILE_H
#define MP_PROFILE_H

#include <stdbool.h>

#include "data/counts.h"
#include "data/course.h"
#include "profile/notes.h"
#include "profile/origin.h"
#include "profile/span.h"
#include "sample/alloc.h"
#include "sample/calls.h"
#include "sample/compiler.h"
#include "sample/capture.h"
#include "sample/cpu.h"
#include "sample/waits.h"

struct mp_extent;
struct mp_heapwalk;
struct mp_memory;
struct mp_profile;
struct mp_scope;

/* Adds what another sampler or a walk knows to the snapshot on top of the stack
** (profile/snapshot.h); e: what the snapshot includes, of the counts of s.
** Raises Lua errors: out of memory. */
typedef void (*mp_addition)(lua_State *L, struct mp_profile *p,
			    const struct mp_extent *e,
			    const struct mp_scope *s);

/* The walk that is asked for. */
typedef struct mp_heaprequest {
  double share;			/* The part of all bytes from which on an */
				/* object has a line of its own; 0: no walk. */
  bool file;			/* The text of a .heapsnapshot, too. */
  bool lasting;			/* Stacks hold only what nothing else does: */
				/* functions are under way. */
  bool closing;			/* The state is being closed. */
  bool urgent;			/* A child that makes it is not behind the */
				/* program: memory may run out. */
} mp_heaprequest;

/* The event that is reported (process/trigger.h). */
typedef struct mp_trigger {
  const char *kind;		/* "memory", "busy" or "refused". */
  double used, most;		/* Bytes, or seconds of CPU time. */
  const char *of;		/* What has that limit; or NULL. */
  double asked;			/* Bytes that an allocation under way wants */
				/* besides those in use; or 0. */
  char at[200];			/* The place in the program; or "". */
} mp_trigger;

typedef struct mp_profile {
  mp_alloc *heap;		/* Lives as long as the VM: its hook may be */
				/* called when the profile has ended. */
  mp_cpu cpu;
  mp_capture capture;
  mp_calls calls;		/* Counted with option n. */
  mp_compiler compiler;		/* Recorded with option J. */
  mp_waits waits;		/* Watched with option I. */
  mp_counts counts;		/* Rows of both samplers. */
  mp_course course;		/* The timeline. */
  mp_span span;
  mp_origin origin;
  mp_notes notes;
  const mp_addition *additions;	/* To snapshots; ends with NULL. */
  struct mp_heapwalk *walk;	/* Taken for the reports; or NULL. */
  struct mp_memory *memory;	/* Taken for the reports; or NULL. */
  const void *own;		/* The data of the profiler's userdata in the */
				/* VM, which leads to the profile. */
  size_t limit;			/* Bytes for stacks, names and rows, and for */
  size_t reportlimit;		/* a report of them; what is beyond counts as */
				/* "(other)". */
  double collected_after;	/* CPU seconds until the collections that */
				/* option L makes at the end. */
  bool busy;			/* Works in the VM: finalizers may call us. */
} mp_profile;

/* Makes an empty profile of one that was closed, or of zeros and a new heap
** sampler; takes no memory yet. Options may be set in its fields from then on.
** owner: has the sampler's callbacks. */
void mp_profile_init(mp_profile *p, const mp_alloc_owner *owner);

/* Allocates the memory that both samplers need before they start; the VM has
** been proved. False: no memory. */
bool mp_profile_open(mp_profile *p);

/* Gives all memory back. Both samplers have stopped, but the heap's hook may
** still be called, for as long as the VM lives. */
void mp_profile_close(mp_profile *p);

/* In the child of a fork: forgets the counts from before it, which are the
** parent's. */
void mp_profile_restart(mp_profile *p);

#endif
