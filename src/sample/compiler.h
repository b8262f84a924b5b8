/* SPDX-License-Identifier: MIT */
/*
** The decisions of the JIT compiler: the traces that it makes and gives up.
**
** LuaJIT tells them by the event "trace" of jit.attach, which has one handler.
** Where the program has one, or jit.attach is not LuaJIT's, the VM's tables
** tell less: the reasons of the last 64 starts given up, and the traces that
** there are at a moment.
**
** A mp_compiler belongs to the thread of its VM. Its lists grow under the lock
** (data/lock.h): another thread may read them when the process ends.
*/
#ifndef MP_COMPILER_H
#define MP_COMPILER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "sample/capture.h"
#include "sample/cpu.h"
#include "vm/jitstate.h"

#include "lua.h"

/* Traces that began at one place and were given up at another, for one
** reason. Places are frames of the profile's stacks; 0: not known. */
typedef struct mp_giveup {
  uint32_t start, at;
  uint32_t function;		/* A frame that is the reason, or 0. */
  int32_t reason;		/* LuaJIT's number; less than 0: an error. */
  int32_t detail;		/* The bytecode's number, or less than 0. */
  bool side;			/* They were side traces. */
  bool early;			/* From before the profile. */
  uint32_t count;		/* 0: not known. */
} mp_giveup;

typedef struct mp_made {
  mp_jittrace trace;		/* proto and pos have gone into: */
  uint32_t start;		/* a frame. */
  uint32_t ticks;		/* Weights of CPU samples in its code. */
  bool gone;			/* It was flushed or collected. */
} mp_made;

typedef enum mp_flushed {	/* Why all traces were thrown away: */
  MP_FLUSH_ASKED,		/* the program or a tool asked for it; */
  MP_FLUSH_GIVEUP,		/* a trace was just given up, for a reason */
				/* that tells more; */
  MP_FLUSH_TRACES,		/* as many traces as may be; */
  MP_FLUSH_SEEN			/* not known: they were gone. */
} mp_flushed;

typedef struct mp_flush {
  double wall;			/* mp_clock_wall. */
  mp_flushed why;
  int32_t reason;		/* Of that trace, or less than 0. */
} mp_flush;

/* A start that is given up for good. */
typedef struct mp_blacklisted {
  uint32_t start;
  bool loop;
} mp_blacklisted;

typedef struct mp_compiler {
  mp_capture *capture;		/* The profile's. */
  mp_cpu *cpu;			/* The profile's CPU sampler. */
  bool on;			/* The profile asks for it. */
  bool listens;			/* The event's handler is ours. */
  bool heard;			/* The event's handler is or was ours. */
  const void *handler;		/* Our handler. */
  const char *why;		/* The reason if it is not. Static string. */
  bool looked;			/* The VM's tables were read at the end. */
  uint32_t started, stopped, aborted;
  uint32_t dropped;		/* Entries that had no room. */
  mp_giveup *giveups;
  mp_map giveupmap;
  uint32_t ngiveups, capgiveups;
  mp_made *made;		/* From 1 on. */
  uint32_t nmade, capmade;
  uint32_t *by_number;		/* Number of a trace -> its index in made. */
  uint32_t live;		/* Of these, not gone. */
  mp_flush *flushes;
  uint32_t nflushes, capflushes;
  mp_blacklisted *blacklisted;
  uint32_t nblacklisted, capblacklisted;
  uint32_t start;		/* The place of the trace that is recorded. */
  bool side;
  bool flushing;		/* A flush that may be that of the end: */
  mp_flush pending;
  int32_t last;			/* The reason that was given last. */
  double looks;			/* When the traces are to be read next. */
  mp_penalties penalties;	/* Read before the start. */
  mp_penalty seen[MP_PENALTIES];  /* Read since, where nothing is told. */
} mp_compiler;

/* Begins: before the CPU sampler does, whose start throws traces and penalties
** away; and after the heap's hook is in place, which sees prototypes go. The
** owner has set capture and cpu. No memory: nothing is recorded. */
void mp_compiler_prepare(mp_compiler *c);
void mp_compiler_start(mp_compiler *c, lua_State *L);

/* Ends recording; before the CPU sampler ends. */
void mp_compiler_stop(mp_compiler *c, lua_State *L);

/* Reads the VM's traces, if it is time for that. At a safepoint. */
void mp_compiler_look(mp_compiler *c);

/* Reads all that there is to read, for a report, if the VM is at rest. */
void mp_compiler_take(mp_compiler *c);

/* In the child of a fork: forgets what was counted. */
void mp_compiler_restart(mp_compiler *c);

void mp_compiler_free(mp_compiler *c);

#endif
