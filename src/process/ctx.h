/* SPDX-License-Identifier: MIT */
/*
** A run of the profiler: one for each Lua VM that is profiled.
**
** A run is made by start, found again through the registry of its VM, and
** listed for the process, so that its report is written whichever way the
** program ends. The list is walked and changed under the lock (data/lock.h).
*/
#ifndef MP_CTX_H
#define MP_CTX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "data/limit.h"
#include "heapwalk/child.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/screen.h"

/* The state of the reports (process/ends.h). */
typedef struct mp_reporting {
  bool done;			/* The final report is begun or abandoned. */
  atomic_bool written;		/* The final report was made. */
  pthread_t reporter;		/* The thread that makes the final report. */
  atomic_bool read;		/* Another thread makes a report meanwhile. */
} mp_reporting;

/* Shared by the process that has a run and the children it forks. */
typedef struct mp_estate {
  atomic_bool claimed;		/* One of them makes the report, or has. */
  atomic_int holder;		/* The child that has taken the run over, or */
				/* 0. */
  atomic_uint forks;		/* Forks that have returned in the process. */
  atomic_uint last;		/* When the last fork returned: milliseconds. */
  atomic_uint cpu;		/* CPU time until then: milliseconds. */
} mp_estate;

/* A run that forked children may take over (process/inherit.h). */
typedef struct mp_heir {
  mp_estate *estate;		/* NULL: there was no memory. */
  bool inherits;		/* A child that may take the run over, */
  pid_t parent;			/* of this process, */
  pid_t forker;			/* in which this thread forked, */
  unsigned fork;		/* after a fork of that number by the one */
				/* that has the run. */
  bool forked;			/* This process has forked, whoever has the */
  unsigned cpu;			/* run: its CPU time then, milliseconds. */
} mp_heir;

/* The program's function for samples (process/callback.h). */
typedef struct mp_called {
  lua_State *thread;		/* Has the function, or NULL. */
  uint64_t reported;		/* Bytes allocated at its last call. */
} mp_called;

#define MP_RECENT	3	/* Moments: of half a minute and more. */

/* The events that are looked for (process/trigger.h). */
typedef struct mp_triggers {
  mp_limits limits;
  double next;			/* When they are looked at again, */
  double turn;			/* and when the thread is. */
  size_t inuse;			/* The Lua heap at the last look: bytes. */
  bool above;			/* Memory is above its limit, and reported. */
  bool wanted;			/* It is, and waits for a safepoint. */
  size_t refused;		/* Bytes that were refused, likewise; or 0. */
  double begun;			/* CPU time when the thread waited last. */
  long waits;			/* Times that it has waited: */
  pid_t tid;			/* this one, which ran the VM then. */
  bool reported;		/* The event of a busy thread was reported. */
  unsigned times[3];		/* Reports of each kind. */
  mp_trigger event;		/* The last one, */
  char name[MP_EVENT_SIZE];	/* for %e. */
  bool memory;			/* The table of memory was taken for it. */
  atomic_bool again;		/* Its walk was lost. */
  mp_baseline base;		/* Walks are compared to it. */
  bool based;			/* It was begun. */
  mp_moment recent[MP_RECENT];	/* The oldest first. */
  int nrecent;
} mp_triggers;

/* A thread of ours waits for the walk, or makes the reports. */
typedef enum mp_doing {
  MP_DOING_NOTHING, MP_DOING_WALK, MP_DOING_REPORTS
} mp_doing;

struct mp_ctx;

/* Reports that are made while the program goes on (process/background.h). */
typedef struct mp_background {
  atomic_int doing;		/* An mp_doing, changed under the lock. */
  bool walks;			/* A child makes a walk. */
  mp_heapchild child;
  mp_moment moment;		/* When it began. */
  void (*f)(struct mp_ctx *c);	/* Makes the reports. */
  bool needed;			/* They are made in any case. */
  atomic_bool hurry;		/* Nobody needs them any more. */
} mp_background;

typedef struct mp_ctx {
  mp_profile profile;
  mp_report report;
  mp_plan plan;			/* The options and outputs of the start. */
  mp_screen screen;		/* The live view. */
  mp_moment window;		/* Where the last window ended. */
  mp_reporting final;
  mp_heir heir;
  mp_called callback;
  int kept;			/* Number of what the VM keeps for the run, */
				/* or 0. */
  double due;			/* When the files are to be rewritten. */
  mp_background background;
  mp_triggers triggers;
  void (*watch)(struct mp_ctx *c);  /* Looks for them, inside the allocator, */
  void (*refused)(struct mp_ctx *c, size_t size);  /* which got no memory, */
  void (*large)(struct mp_ctx *c, size_t size);  /* or is to get so much; or */
				/* all NULL. */
  void (*look)(struct mp_ctx *c, lua_State *L, double wall);  /* At each */
				/* safepoint, for the owner; or NULL. */
  pthread_t thread;		/* Where the VM was seen to run last. */
  uint64_t jiffy;		/* When the time was read last. */
  struct mp_ctx *next;		/* Next one of the process. */
} mp_ctx;

/* An empty context, or NULL: no memory. old: a context of the same VM that has
** ended, to be used again, or NULL. */
mp_ctx *mp_ctx_new(mp_ctx *old);

/* Frees all memory that the context holds. Both samplers have stopped, and the
** context is in no list. The context itself lives as long as its VM: a C
** library may have asked for the VM's allocator while that was the hook, and
** still use it. */
void mp_ctx_end(mp_ctx *c);

/* Has a walk given up that another thread waits for, unless it is for the
** report of an event. */
void mp_ctx_hurry(mp_ctx *c);

/* Waits until no other thread makes a report of the context; that one
** hurries. To be called before the context ends, and in its own thread before
** another report is made. */
void mp_ctx_await(mp_ctx *c);

/* The VM of the context is being closed: frees the context, but only after some
** others, since finalizers of the VM may still use it. NULL: nothing
** happens. */
void mp_ctx_bury(mp_ctx *c);

/* From now on no context is ended: the process ends, and this thread walks the
** list while others may still close their VMs. */
void mp_ctx_keep_all(void);

/* Makes the data that the context shares with children forked from now on, if
** there is memory. */
void mp_ctx_share(mp_ctx *c);

/* Forgets what the reports of events would be compared to. */
void mp_ctx_no_past(mp_ctx *c);

void mp_ctx_enlist(mp_ctx *c);
void mp_ctx_delist(mp_ctx *c);

/* The first context of the process, or NULL. Under the lock. */
mp_ctx *mp_ctx_list(void);

#endif
