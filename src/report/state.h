/* SPDX-License-Identifier: MIT */
/*
** A private Lua state, in which option strings are read and reports are made.
**
** The state is opened when the profile starts, and loads all views then, so
** nothing that the program does can prevent the report: another directory or
** root, changed libraries, a full heap, a trace or a C call that is still
** running when a signal ends the process. And the profiled heap, whose size
** and collections are measured, holds next to nothing of the profiler.
**
** The state is only used inside protected calls. The functions for these are
** created when it is opened, so that a call itself needs no memory.
*/
#ifndef MP_STATE_H
#define MP_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "profile/memory.h"

#include "lua.h"

typedef struct mp_state {
  lua_State *R;			/* Or NULL. */
  void *argument;		/* Of the function that is called. */
  mp_memory_of memory;		/* Its allocator. */
  size_t left;			/* Bytes that it may still take. */
  size_t limit;			/* Bytes that it may take; 0: any number. */
  bool refused;			/* It wanted more. */
  bool ffi_half_open;		/* vm/own.h: it can never be closed. */
  atomic_bool taken;		/* It is in use. */
  pthread_t taker;		/* The thread that uses it. */
} mp_state;

/* Opens a state, with that package.path, loads the module jit.mp.plan, and
** makes the functions, a list that ends with NULL. Returns 0, or an errno value
** and a message in buf. *s is to be closed even if it fails, and NULL if there
** was no memory for it. */
int mp_state_open(mp_state **s, const char *path,
		  const lua_CFunction *functions, char *buf, size_t n);
void mp_state_close(mp_state *s);

/* Takes the state for some calls. Waits for another thread that has the state,
** ten seconds at most. False, with a message: that was not enough, or this
** thread, in a finalizer, has the state already. */
bool mp_state_take(mp_state *s, char *buf, size_t n);

/* Releases the state, and frees memory that is not needed any more. */
void mp_state_give_back(mp_state *s);

/* From now on the state may take that many bytes more; 0: any number. */
void mp_state_limit(mp_state *s, size_t bytes);

/* Calls one of the functions with that argument, which it gets by
** mp_state_argument. False: the function raised an error, whose message is in
** buf, if not NULL. */
bool mp_state_call(mp_state *s, lua_CFunction f, void *argument, char *buf,
		   size_t n);
void *mp_state_argument(lua_State *R);

/* Pushes a function of the module jit.mp.plan, in one of these functions. */
void mp_state_push(lua_State *R, const char *function);

#endif
