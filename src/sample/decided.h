/* SPDX-License-Identifier: MIT */
/*
** What the JIT compiler has decided: traces made, given up and thrown away, and
** the places where they begin.
**
** A mp_compiler belongs to the thread of its VM. Its lists grow under the lock
** (data/lock.h): another thread may read them when the process ends.
*/
#ifndef MP_DECIDED_H
#define MP_DECIDED_H

#include <stdbool.h>
#include <stdint.h>

#include "data/map.h"
#include "sample/capture.h"
#include "sample/cpu.h"
#include "sample/listing.h"
#include "vm/escape.h"
#include "vm/jitstate.h"

#include "lua.h"

/* Traces that began at one place and were given up at another, for one
** reason. Places are frames of the profile's stacks; 0: not known. */
typedef struct mp_giveup {
  uint32_t start, at;
  uint32_t pos;			/* Of the start: its instruction. */
  uint32_t function;		/* A frame that is the reason, or 0. */
  int32_t reason;		/* LuaJIT's number; less than 0: an error. */
  int32_t detail;		/* The bytecode's number, or less than 0. */
  bool side;			/* They were side traces. */
  bool early;			/* From before the profile. */
  bool final;			/* The start was then given up for good. */
  uint32_t count;		/* 0: not known. */
  const char *proto;		/* Where the last one started; or NULL. */
  uint32_t loads;		/* So often that was another than before. */
  double wall;			/* mp_clock_wall of the first; 0: not known. */
} mp_giveup;

typedef struct mp_made {
  mp_jittrace trace;		/* proto and pos have gone into: */
  uint32_t start;		/* a frame. */
  uint32_t ticks;		/* Weights of CPU samples in its code. */
  double allocated;		/* Bytes, estimated from samples. */
  bool gone;			/* It was flushed or collected. */
  uint32_t alike;		/* Others without a parent that began there, */
				/* used nothing and are not listed. */
  char *listing;		/* Or NULL. */
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
  uint32_t count;		/* So many, where there was no more room. */
} mp_flush;

#define MP_TRACE_NUMBERS	65536u	/* Numbers of traces are less. */

/* A start that is given up for good, or a function whose starts all are. */
typedef struct mp_blacklisted {
  uint32_t start;
  const char *kind;		/* "loop", "function", or "off": by jit.off. */
} mp_blacklisted;

/* Objects that traces make at a place, and how these escape. */
typedef struct mp_escaped {
  uint32_t place, at;		/* Frames; 0: not known. */
  mp_escapes how;
  uint32_t count;		/* Of them in traces. */
} mp_escaped;

typedef struct mp_compiler {
  mp_capture *capture;		/* The profile's. */
  mp_cpu *cpu;			/* The profile's CPU sampler. */
  bool on;			/* The profile asks for it, */
  bool lists;			/* and for listings. */
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
  uint32_t *by_number;		/* Number of a trace -> its index in made; */
  uint32_t numbers;		/* those from here on have none. */
  uint32_t live;		/* Of these, not gone: all have room. */
  uint32_t unused;		/* Gone without use since some were */
  mp_map begun;			/* forgotten: where one of these began. */
  mp_listing listing;		/* Of the trace that is recorded. */
  const char *unlisted;		/* The part that listings lack. Static. */
  size_t listed;		/* Bytes of all listings. */
  uint32_t leftout;		/* Traces whose listings had no room. */
  mp_flush *flushes;
  uint32_t nflushes, capflushes;
  mp_blacklisted *blacklisted;
  uint32_t nblacklisted;
  mp_escaped *escaped;		/* From 1 on. */
  mp_map escapedmap;
  uint32_t nescaped, capescaped;
  uint32_t start;		/* The place of the trace that is recorded; */
  const char *startpt;		/* its prototype, or NULL, */
  uint32_t pos;			/* and its instruction. */
  bool side;
  bool flushing;		/* A flush that may be that of the end: */
  mp_flush pending;
  int32_t last;			/* The reason that was given last. */
  double looks;			/* When to look at the VM next; */
  double reads;			/* when its traces are to be read. */
  uint32_t nlooks, noff;	/* Looks so far; with the compiler off. */
  mp_penalties penalties;	/* Read before the start. */
  mp_penalty seen[MP_PENALTIES];  /* Read since, where nothing is told. */
} mp_compiler;

/* The frame of a prototype's instruction; 0: no memory. */
uint32_t mp_decided_proto(mp_capture *c, const char *proto, uint32_t pos);

/* The frame of the function at i of the stack, at the instruction whose number
** comes after it; 0: not known. */
uint32_t mp_decided_place(mp_capture *c, lua_State *L, int i);

/* Whether no trace will begin at that instruction any more. proto: one that has
** not been freed, or NULL. */
bool mp_decided_for_good(const char *proto, uint32_t pos);

/* Counts a trace given up. */
void mp_decided_giveup(mp_compiler *c, const mp_giveup *g);

/* Reads the trace of that number. False: there is none. */
bool mp_decided_trace(mp_compiler *c, uint32_t number);

/* Gives the trace of that number the listing that was recorded. */
void mp_decided_list(mp_compiler *c, uint32_t number);

/* Forgets all listings. */
void mp_decided_unlist(mp_compiler *c);

/* Gives the traces that there are, or were before the last flush, what was
** counted for them. */
void mp_decided_fold(mp_compiler *c);

/* The trace of that number is no more. */
void mp_decided_lose(mp_compiler *c, uint32_t number);

/* Reads the traces that there are. at_end: the VM may have thrown them away,
** as it is being closed. */
void mp_decided_traces(mp_compiler *c, bool at_end);

/* Something follows a flush: it was not that of the VM's end. */
void mp_decided_settle(mp_compiler *c);

#endif
