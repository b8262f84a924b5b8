/* SPDX-License-Identifier: MIT */
/*
** The heap at one moment: what there is, who holds it, and who allocated it.
**
** The program stands still while it is taken. That must be where the VM is at
** rest: in a C function, or at a safepoint; never in the allocator or in a
** signal handler, where an object may be half made.
*/
#ifndef MP_HEAPWALK_H
#define MP_HEAPWALK_H

#include "profile/holders.h"
#include "profile/profile.h"
#include "vm/arena.h"
#include "vm/heapname.h"

#define MP_HEAPWALK_TYPES	MP_HEAP_TYPES

typedef struct mp_heapsum {
  uint64_t count, bytes;
} mp_heapsum;

/* What rows of the profile allocated that a line holds, by samples. */
typedef struct mp_heapjoin {
  uint32_t row, line;
  double objects, bytes;
  double first, last;		/* When they were born: milliseconds. */
} mp_heapjoin;

typedef struct mp_heapwalk {
  const char *why;		/* Why there is nothing more; or NULL. */
  bool closing;			/* The state is being closed. */
  double at;			/* When: seconds of the profile's wall clock. */
  double seconds;		/* How long the program stood still. */
  mp_heapown own;
  mp_arena arena;		/* All 0: not known. */
  bool adds_up;			/* The sum is what the collector counts. */
  mp_heapsum held[MP_HEAPWALK_TYPES];  /* By an object's type. */
  mp_heapsum garbage[MP_HEAPWALK_TYPES];
  const char *types[MP_HEAPWALK_TYPES];  /* Names of the types met. */
  uint64_t edges, memory;	/* References; bytes it took for a while. */
  mp_holders holders;
  mp_heapjoin *joins;
  uint32_t njoins, capjoins;
  char *file;			/* The text of a .heapsnapshot; or NULL. */
  size_t filelen;
} mp_heapwalk;

/* Walks the heap of L. p: the profile whose samples are looked up; or NULL.
** share: of all bytes, the least that has a line of its own. file: the text of
** a .heapsnapshot is wanted, too. Never fails otherwise than by `why`. Returns
** NULL if there is no memory even for that. */
mp_heapwalk *mp_heapwalk_take(const mp_profile *p, lua_State *L, double share,
			      bool file);
void mp_heapwalk_nofile(mp_heapwalk *w);  /* The text is not needed any more. */
void mp_heapwalk_free(mp_heapwalk *w);

/* When a walk is taken. */
typedef enum mp_moment {
  MP_MEANWHILE,			/* The profile goes on. */
  MP_AT_END,			/* It ends: the walk is no part of it. */
  MP_CLOSING			/* It ends because the state is closed. */
} mp_moment;

/* Takes one for the reports of the profile, in place of the last; share 0:
** none is wanted. L runs, or its VM is at rest. */
void mp_heapwalk_refresh(mp_profile *p, lua_State *L, double share, bool file,
			 mp_moment moment);
void mp_heapwalk_drop(mp_profile *p);

/* Pushes it as a table. Raises Lua errors: out of memory. */
void mp_heapwalk_push(lua_State *L, const mp_heapwalk *w);

#endif
