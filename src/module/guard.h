/* SPDX-License-Identifier: MIT */
/*
** The guard of a VM: a userdata in its registry that holds the run of the
** profiler, outlives everything in the VM, and ends the run when the VM is
** closed, while the allocator can still be put back.
*/
#ifndef MP_GUARD_H
#define MP_GUARD_H

#include <stddef.h>

#include "process/ctx.h"

#include "lua.h"

typedef struct mp_guard {
  mp_ctx *run;			/* The run, or NULL. */
  mp_ctx *spare;		/* One that has ended, to be used again. */
  mp_ctx *stuck;		/* Others, whose hooks are still called, by */
				/* allocators that were put over them. */
  unsigned number;		/* Of the VM, in this process: from 1. */
  int kept;			/* Last number of what a run keeps. */
} mp_guard;

/* The run of the VM, which may have ended or belong to another process; NULL:
** there is none. */
mp_ctx *mp_guard_get(lua_State *L);

/* The run that is under way in this process; NULL: there is none. */
mp_ctx *mp_guard_running(lua_State *L);

/* Pushes the guard, or nil. */
void mp_guard_push(lua_State *L);

/* The guard, which is made if there is none yet. Raises Lua errors: out of
** memory. The pointer is valid until the VM is closed. */
mp_guard *mp_guard_make(lua_State *L);

/* If the VM's layout is proved, lets the guard's finalizer be called without
** the program's wrapper of C functions. Raises Lua errors: out of memory. */
void mp_guard_unwrap(lua_State *L);

/* A context for a new run, which is not in the guard yet. NULL: no memory. */
mp_ctx *mp_guard_new(mp_guard *g, lua_State *L);

/* Returns a context that no run has used. */
void mp_guard_drop(mp_guard *g, mp_ctx *c);

/* Makes the coroutines of the run, which the guard keeps from the collector:
** the anchor, with jit.zone's table, and that of the callback, as
** mp_callback_take. Raises Lua errors. */
void mp_guard_coroutines(mp_ctx *c, lua_State *L);

/* Leaves them to the collector. */
void mp_guard_release(mp_ctx *c, lua_State *L);

/* Takes the run out of the guard and ends it. Returns as mp_final_report,
** with a message in buf. */
int mp_guard_end(lua_State *L, char *buf, size_t n);

/* The same with all that the report tells of the heap: collects garbage, if
** that is needed; then a finalizer may end the run before. */
int mp_guard_stop(lua_State *L, char *buf, size_t n);

/* Ends the run without a report. The caller owns the returned context, which
** has no connection to the VM any more, makes the report from it
** (process/ends.h), in any thread, and calls mp_guard_leave. NULL: the run has
** not ended, because another allocator was put over ours. */
mp_ctx *mp_guard_detach(lua_State *L);

/* Restores the actions of signals unless there is another run. */
void mp_guard_leave(void);

#endif
