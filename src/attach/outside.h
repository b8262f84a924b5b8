/* SPDX-License-Identifier: MIT */
/*
** A look from outside at a process that nothing can be loaded into: one that is
** linked statically, or lies in a sandbox or a container.
**
** Now and then, by its CPU time, the thread that runs the VM is stopped for a
** moment, in which its Lua stack is read (attach/stack.h). Nothing is written,
** and no code of ours runs there. The kernel's task clock tells when; where the
** system does not permit that, looks at how long the thread has run do, which
** meet a thread that waits for a processor, too.
*/
#ifndef MP_OUTSIDE_H
#define MP_OUTSIDE_H

#include "attach/kind.h"

#define MP_OUTSIDE_THREADS 1024	/* More are not listed. */

/* The CPU seconds of a thread at the beginning. */
typedef struct mp_outside_begun {
  pid_t tid;
  double ran;
} mp_outside_begun;

typedef struct mp_outside {
  pid_t pid;
  pid_t tid;			/* The thread that runs the VM, if it is */
  bool known;			/* known. */
  bool found;			/* It was known at some time. */
  double ran;			/* Its CPU seconds at the last look. */
  double spent;			/* CPU seconds of such threads so far, */
  double sampled;		/* and those at the last sample. */
  double interval;		/* CPU seconds between two samples. */
  mp_outside_begun begun[MP_OUTSIDE_THREADS];
  int nbegun;
  int ticks;			/* The task clock of the thread, or -1. */
  struct perf_event_mmap_page *page;  /* Its ring, or NULL. */
  int pidfd;			/* To see the process end, or -1. */
  const mp_kind *kind;
  mp_maps maps;
  mp_found states[MP_STATES_MAX];
  int nstates;			/* There may be more. */
  const mp_found *state;	/* The chosen one, */
  uint64_t running;		/* and where it refers to its thread. */
  mp_far_stack stack;		/* That of the last sample. */
  char msg[512];
} mp_outside;

/* Finds the states of the process, until *end is set. False, with a message. It
** must be closed even after a failure. */
bool mp_outside_open(mp_outside *o, pid_t pid, const volatile int *end);
void mp_outside_close(mp_outside *o);

/* Chooses a state, by number from 0, and the CPU seconds between two samples.
** False, with a message. */
bool mp_outside_choose(mp_outside *o, int state, double interval);

/* Takes a sample if one is due and the thread is still where it was then.
** False: none was taken. */
bool mp_outside_sample(mp_outside *o, mp_far_place *place);

/* Lists the C functions that have names (attach/stack.h), to be freed. Returns
** their number. */
int mp_outside_functions(const mp_outside *o, mp_far_function **list);

/* Lists the threads of a process. Returns their number. */
int mp_outside_threads(pid_t pid, pid_t list[MP_OUTSIDE_THREADS]);

/* Whether the process has not ended. */
bool mp_outside_exists(const mp_outside *o);

/* Waits until a sample may be due, a part of a second at most, or until *end is
** set. Returns whether the process still exists. */
bool mp_outside_wait(mp_outside *o, const volatile int *end);

#endif
