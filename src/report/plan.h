/* SPDX-License-Identifier: MIT */
/*
** A plan: the settings and outputs that the user asks for.
*/
#ifndef MP_PLAN_H
#define MP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/origin.h"
#include "profile/profile.h"
#include "report/output.h"
#include "report/sending.h"
#include "report/state.h"

#define MP_FAILED (-1)		/* The report could not be made. */
#define MP_WRONG (-2)		/* Wrong arguments. */

/* The events that are reported while the program runs (process/trigger.h). */
typedef struct mp_triggerrequest {
  double share;			/* Of a limit of memory, from 0 to 1, */
  double bytes;			/* in use, and */
  double busy;			/* seconds without a wait; 0: none. */
  mp_heaprequest walk;		/* For their reports. */
} mp_triggerrequest;

/* The meaning of an option string and the names of outputs. The parsed options
** themselves stay in the state that makes the reports. */
typedef struct mp_plan {
  char *text;			/* The option string. */
  mp_output *outs;		/* The destinations of the report: `nouts`. */
  int nouts;
  mp_sending *sendings;		/* For those that are servers, as many. */
  luajit_mp_writer writer;	/* Takes what goes there, if it has a write. */
  uint64_t period;		/* Mean bytes between samples; 0: adapts. */
  int interval;			/* Milliseconds of CPU samples; 0: adapts. */
  int every;			/* Seconds between two writes; 0: once. */
  double leak_limit;		/* Bytes; 0: none. */
  double limit;			/* Bytes for the profile. */
  mp_heaprequest walk;		/* The heap walk at the end. */
  mp_triggerrequest trigger;
  bool events, leaks, live, memory;  /* Whether these are wanted. */
  bool calls;			/* Every call is counted. */
  bool compiler;		/* The JIT compiler's decisions are recorded. */
  bool listings;		/* With listings of its traces. */
  bool waits;			/* Coroutines are watched. */
  bool types;			/* A report shows types of objects. */
  bool lines;			/* A report shows lines. */
  bool functions;		/* Lines are not wanted at all. */
  bool cpu_only;		/* No view of the heap is. */
  bool help;			/* The report is the list of the options. */
  bool together;		/* The profiles of all states add up. */
  bool collected;		/* It begins with a collection: frees of what */
				/* a start needs do not count. */
  double began;			/* Unix time when luajit-mp run started the */
				/* program; 0: it did not. */
} mp_plan;

/* Makes a plan of the arguments on L's stack: an option string, or a table of
** options, the names of outputs, which are opened, and perhaps a userdata with
** a writer. %s in a name stands for the number of the state, %m is for the
** profiles of several states together. Returns 0, an error of report/output.h,
** or one of the numbers above; if not 0, with a message in buf. To be freed in
** any case, at the same address. */
int mp_plan_make(mp_plan *plan, mp_state *s, lua_State *L,
		 const mp_origin *origin, char *buf, size_t n);
void mp_plan_free(mp_plan *plan, mp_state *s);

/* In the child of a fork, whose reports go to these outputs, too. */
void mp_plan_forked(mp_plan *plan);

/* Pushes the plan as jit.mp.plan made it, in a function of the state. */
void mp_plan_push(lua_State *R, const mp_plan *plan);

/* The functions of the state that do this. */
int mp_plan_in_make(lua_State *R);
int mp_plan_in_drop(lua_State *R);

#endif
