/* SPDX-License-Identifier: MIT */
/*
** The heap at one moment: its objects, their holders, and their allocations.
**
** The program stands still during a walk. The VM must be at rest then: in a C
** function, or at a safepoint; never in the allocator or in a signal handler,
** where an object may be half made.
*/
#ifndef MP_HEAPWALK_H
#define MP_HEAPWALK_H

#include "heapwalk/baseline.h"
#include "heapwalk/copied.h"
#include "heapwalk/holders.h"
#include "heapwalk/kinds.h"
#include "heapwalk/name.h"
#include "heapwalk/size.h"
#include "profile/extent.h"
#include "profile/profile.h"
#include "vm/arena.h"

#define MP_HEAPWALK_TYPES	MP_HEAP_TYPES

typedef struct mp_heapsum {
  uint64_t count, bytes;
} mp_heapsum;

/* The samples of a row of the profile among the objects of a line. */
typedef struct mp_heapjoin {
  uint32_t row, line;
  double objects, bytes;
  double first, last;		/* When they were born: milliseconds. */
} mp_heapjoin;

/* The sampled blocks of C memory of a row that count for a line. */
typedef struct mp_heapcjoin {
  uint32_t row;			/* Of the sums (native/native.h). */
  uint32_t line;		/* 0: the VM. */
  bool led;			/* An object leads to them. */
  double objects, bytes;
} mp_heapcjoin;

/* C memory by the objects that lead to it. */
typedef struct mp_heapc {
  bool known;			/* It was profiled and searched, */
  const char *why;		/* or why it could not be; or NULL. */
  bool partly;			/* Not all was searched. */
  double all;			/* Bytes in use. */
  mp_heapcjoin *joins;
  uint32_t njoins, capjoins;
} mp_heapc;

typedef struct mp_heapwalk {
  const char *why;		/* Why the walk failed; or NULL. */
  bool closing;			/* The state is being closed, */
  bool left;			/* and the variables that the main chunk had */
				/* when it returned are among the holders. */
  double at;			/* Seconds of the profile's wall clock. */
  double seconds;		/* Seconds that the program stood still, */
  double child;			/* and that a child took for the walk; 0: */
				/* none did, */
  const char *alone;		/* and why that could not be; or NULL. */
  mp_heapown own;
  mp_arena arena;		/* All 0: not known. */
  bool adds_up;			/* The sum is the collector's total. */
  mp_heapsum held[MP_HEAPWALK_TYPES];  /* By an object's type. */
  mp_heapsum garbage[MP_HEAPWALK_TYPES];
  mp_heapslots slots;		/* Of the tables that are held. */
  const char *types[MP_HEAPWALK_TYPES];  /* Names of the types found. */
  mp_heapkinds kinds;		/* Of the objects that are held. */
  uint32_t chains, chains_used, longest;  /* As in mp_heap. */
  uint64_t edges, memory;	/* References; bytes that the walk took. */
  double least;			/* Each object that holds as much has a line. */
  mp_holders holders;
  mp_heapjoin *joins;
  uint32_t njoins, capjoins;
  mp_heapc c;
  char *file;			/* The text of a .heapsnapshot; or NULL. */
  size_t filelen;
  size_t mapped;		/* Bytes of the mapping that all of it lies */
				/* in; 0: it is malloc's. */
} mp_heapwalk;

/* Walks the heap of L. p: the profile whose samples are looked up; or NULL.
** Where the walk fails, `why` is set. Returns NULL if there is no memory even
** for that. */
mp_heapwalk *mp_heapwalk_take(const mp_profile *p, lua_State *L,
			      const mp_heaprequest *request);

/* The same of a copied heap, of which mp_copied_open has found the layout; but
** for what the allocator has. */
mp_heapwalk *mp_heapwalk_copied(const mp_copied *c,
				const mp_heaplayout *layout,
				const mp_heaprequest *request);

/* Frees the text of the .heapsnapshot. */
void mp_heapwalk_nofile(mp_heapwalk *w);
void mp_heapwalk_free(mp_heapwalk *w);

/* The occasion of a walk. */
typedef enum mp_occasion {
  MP_MEANWHILE,			/* The profile goes on. */
  MP_AT_END,			/* It ends: the walk is not part of it. */
  MP_CLOSING			/* It ends because the state is closed. */
} mp_occasion;

/* Takes a walk for the reports of the profile, in place of the last one. L
** runs, or its VM is at rest. */
void mp_heapwalk_refresh(mp_profile *p, lua_State *L,
			 const mp_heaprequest *request, mp_occasion occasion);
void mp_heapwalk_drop(mp_profile *p);

/* Pushes the walk as a table. b: what it is compared to, or NULL. Raises Lua
** errors: out of memory. */
void mp_heapwalk_push(lua_State *L, const mp_heapwalk *w,
		      const mp_baseline *b);

/* An addition (profile/profile.h) to every snapshot: the walk taken for the
** reports, if there is one, as "walk". */
void mp_heapwalk_add(lua_State *L, mp_profile *p, const mp_extent *e,
		     const mp_scope *scope);

#endif
