/* SPDX-License-Identifier: MIT */
/*
** A profile of a process that was not prepared for it: luajit-mp attach.
**
** A thread of the process is stopped only for moments (attach/tracee.h), first
** to make it load the profiler's module, then to pass requests to the module
** (module/attach.h). In between the process is not touched.
**
** Functions return true, or false with a message in `msg`.
*/
#ifndef MP_SESSION_H
#define MP_SESSION_H

#include "attach/call.h"
#include "attach/hidden.h"
#include "attach/kind.h"
#include "attach/safe.h"
#include "module/attach.h"

typedef struct mp_session {
  pid_t pid;
  pid_t tid;			/* The thread that runs the VM. */
  int pidfd;			/* To see it end, or -1. */
  const mp_kind *kind;		/* Of the VM that it has, */
  char *library;		/* and the module for that, by its absolute */
				/* name. */
  mp_maps maps;
  mp_mapping objects[4];	/* Copies: the list is read again at times. */
  mp_code code;			/* These are the objects in it. */
  char *names;			/* The library for functions that the VM does */
				/* not export; NULL: it exports them. */
  mp_hidden hidden;		/* These functions. */
  mp_place place;		/* How calls are made. */
  uint64_t map, unmap;		/* The functions mmap and munmap. */
  uint64_t open, error;		/* The functions dlopen and dlerror. */
  mp_found states[MP_STATES_MAX];
  int nstates;			/* There may be more. */
  const mp_found *state;	/* The chosen one. */
  uint64_t enter;		/* The module's entry; 0: not loaded yet. */
  uint64_t block;		/* Address of its answer; 0: see above. */
  mp_attach_caller caller;	/* This command. */
  pid_t tracer;			/* Who came between, or 0. */
  bool asked;			/* The module has got a request of ours. */
  double leaving;		/* Seconds in which compiled code is to be */
				/* left at the next visit. */
  mp_attach_block answer;	/* As it was read last. */
  bool gone;			/* It has ended before it was done. */
  bool partial;			/* The profile in it is not the last one. */
  int fd;			/* The profile that is written, or -1. */
  char msg[1024];
} mp_session;

/* Searches a process for states but those with that allocator, until *end is
** set: *n of them in the list (attach/find.h). Returns their kind, or NULL. */
const mp_kind *mp_session_search(const mp_maps *m, uint64_t own, mp_found *list,
				 int *n, const volatile int *end);

/* Finds the states of the process, until *end is set. The session must be
** closed even after a failure. */
bool mp_session_open(mp_session *s, pid_t pid, const char *library,
		     const volatile int *end);
void mp_session_close(mp_session *s);

/* Whether the command lacks memory for what it has to do, and says so. */
bool mp_session_poor(mp_session *s);

/* Whether the process has loaded the module: finds its entry and its answer. */
bool mp_session_loaded(mp_session *s);

/* Whether the state is being profiled already. */
bool mp_session_profiled(const mp_session *s, int state);

/* Starts a profile of the state, by number from 0. path: package.path for the
** profiler's modules. Waits for that many seconds until the program can be
** interrupted, or until *end is set; *late: that time was not enough. */
bool mp_session_start(mp_session *s, int state, const char *options,
		      const char *path, double seconds,
		      const volatile int *end, bool *late);

/* Waits for that many seconds, or until *end is set. Returns whether the
** process still exists. */
bool mp_session_wait(mp_session *s, double seconds, const volatile int *end);

/* Ends the profile, which can then be read from s->fd. It may be there even if
** the process has ended. If the program runs no Lua code, the profile so far is
** there, s->partial is set, and the profile ends when Lua code runs again. */
bool mp_session_stop(mp_session *s, double seconds, const volatile int *end);

/* After reading a partial profile: whether it was not written again meanwhile.
** If it was, it is complete now. */
bool mp_session_steady(mp_session *s);

/* Has the profile so far written, to be read from s->fd. *end as above. */
bool mp_session_write(mp_session *s, double seconds, const volatile int *end);

#endif
