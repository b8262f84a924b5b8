/*
** The profile under way: one mp_ctx for each Lua VM that is profiled.
**
** Everything here lives in malloc's memory, never in the profiled Lua heap.
** A context is made by start, found again through the registry of its VM,
** and listed for the process (run/end.c), so that its report can be written
** whichever way the program ends.
*/
#ifndef MP_H
#define MP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "data/counts.h"
#include "data/course.h"
#include "data/events.h"
#include "data/live.h"
#include "data/period.h"
#include "out/output.h"
#include "sample/capture.h"
#include "vm/type.h"
#include "vm/vm.h"

#include "lua.h"

#define MP_NOTES 4		/* Notes to the reader of the report, at most. */

/* One sampled object that is alive, where a sample is more than its row. */
typedef struct mp_sample {
  double objects;		/* How many objects it stands for. */
  size_t size;			/* Bytes of the object itself. */
  uint32_t row;			/* Row it counts in; 0: not known yet. */
  uint32_t next;		/* Next free record, or next one waiting. */
  uint32_t birth;		/* Milliseconds since the start. */
  uint32_t cycle:31;		/* Collections begun before. */
  uint32_t freed:1;		/* Freed while it waited for its stack. */
} mp_sample;			/* size is 0 in a free record. */

/* What a reallocation replaced. */
typedef struct mp_moved {
  bool counted;			/* It was one, and is an event. */
  uint32_t origin;		/* Row that had allocated the block before. */
  size_t size;			/* Its size before. */
} mp_moved;

/* What an option string and the names of outputs ask for. The parsed options
** themselves stay in the state that makes the reports. */
typedef struct mp_plan {
  mp_output *outs;		/* Where the report goes: `nouts` places. */
  int nouts;
  uint64_t period;		/* Mean bytes between samples; 0: adapts. */
  int interval;			/* Milliseconds between CPU samples. */
  double leak_limit;		/* Bytes; 0: none. */
  bool events, leaks, live;	/* Whether these are wanted. */
  bool help;			/* The report is the list of the options. */
} mp_plan;

#define MP_WRONG (-2)		/* In place of an errno: wrong arguments. */

/* The terminal of the live view. */
typedef struct mp_screen {
  int fd;			/* Or -1. */
  int rows, columns;
  int divided;			/* Rows it had when it was divided, or 0. */
  double due;			/* When it is to be drawn: seconds. */
} mp_screen;

typedef struct mp_ctx {
  /* -- The path of every allocation: one line of the cache -- */
  lua_Alloc allocf;		/* The allocator that was there before. */
  void *allocd;			/* Its data. */
  int64_t left;			/* Bytes until the next sample, */
				/* without those in `held`. */
  uint64_t allocs, frees;	/* A realloc is one of each. */
  size_t peak;			/* Highest total of the Lua heap so far. */
  uint8_t white;		/* The collector's white, when last seen. */
  mp_vm vm;			/* How to look into the VM; vm.g first. */
  mp_live live;			/* Sampled objects still alive. */

  /* -- Totals -- */
  int64_t held;			/* See `left`, and sample/heap.c. */
  uint64_t drawn;		/* Bytes until there, from the start. */
  uint64_t reallocs;
  uint64_t realloc_bytes, realloc_freed;  /* Sizes, after and before. */
  uint64_t cycles;		/* Collections seen to begin their sweep. */

  /* -- Samples -- */
  mp_period period;		/* When the next one is due. */
  bool exact;			/* Every allocation is a sample. */
  bool wants_events, wants_leaks;
  bool collected;		/* What could be collected was. */
  size_t inuse0;		/* Bytes in the Lua heap at the start. */
  bool direct;			/* Ids in `live` are rows, not samples. */
  mp_sample *samples;		/* Sample records; [0] is unused. */
  uint32_t nsamples, capsamples;  /* Records ever used, and allocated. */
  uint32_t freesample;		/* First free record. */
  uint32_t waiting;		/* First one that waits for a safepoint. */
  uint64_t heap_samples;	/* Allocation samples taken. */
  uint64_t dropped;		/* Samples lost for want of memory. */
  uint64_t cpu_samples;		/* Timer samples taken. */
  double cpu_seen;		/* Clock at the last one, in seconds. */
  int raised;			/* Timer signals that were our own. */
  uint32_t now;			/* Milliseconds since the start, nearly. */
  mp_types types;		/* What kind of object is asked for where. */
  mp_moved last;		/* The last allocation, as an event, */
  mp_moved asked;		/* and that of the block types asks about. */

  /* -- What they are counted in -- */
  mp_capture capture;		/* Stacks of both samplers. */
  mp_counts counts;		/* Rows. */
  mp_course course;		/* How the heap went. */
  mp_events events;		/* Reallocations and frees. */

  /* -- The run -- */
  lua_State *anchor;		/* A coroutine of the VM, never run: holds */
				/* jit.zone's table, lives as long as this. */
  lua_State *report;		/* The private state that makes reports. */
  char *options;		/* Option string. */
  char *luajit, *os, *arch;	/* What is running, as the jit library says. */
  mp_plan plan;			/* What was asked for at the start. */
  mp_screen screen;		/* The live view. */
  char *cwd, *script;		/* When the profile began. */
  char **command;		/* The luajit command's words, NULL at the end. */
  int interval;			/* Milliseconds asked of the timer. */
  bool timer;			/* The profiling timer is ours, */
  bool timed;			/* or was. */
  bool started;			/* The hook is in place. */
  bool frozen;			/* What is allocated is the profiler's own. */
  int64_t thaw_left;		/* `left`, `allocs` and bytes in use before. */
  uint64_t thaw_allocs, thaw_reallocs, thaw_bytes, thaw_freed;
  size_t thaw_inuse;
  bool reporting;		/* A report is being made. */
  bool busy;			/* Works in the VM: finalizers may call us. */
  pthread_t thread;		/* Where the VM was seen to run last. */
  bool done;			/* The final report was made or given up. */
  double cpu0, wall0;		/* Clocks at the start, in seconds, */
  double cpu1, wall1;		/* and at the end, before the final reports. */
  double started_at;		/* Unix time at the start. */
  pid_t pid;			/* Process that the profile belongs to. */
  const char *notes[MP_NOTES];	/* Static strings. */
  struct mp_ctx *next;		/* Next context of the process. */
} mp_ctx;

/* -- sample/heap.c: the allocation sampler -- */

void mp_alloc_start(mp_ctx *c, lua_State *L);
void mp_alloc_stop(mp_ctx *c, lua_State *L);  /* Leaves `started` if it can't. */

/* The hook stays, under somebody else's, and looks at nothing any more. */
void mp_alloc_retire(mp_ctx *c);

/* What is allocated in between is not the program's, and not counted. */
void mp_alloc_freeze(mp_ctx *c);
void mp_alloc_thaw(mp_ctx *c);

/* Totals, all of them exact. */
uint64_t mp_alloc_bytes(const mp_ctx *c);  /* Allocated since the start. */
uint64_t mp_alloc_count(const mp_ctx *c);  /* How often. */
size_t mp_alloc_inuse(mp_ctx *c);  /* In the Lua heap now; updates the peak. */

/* Forgets what was before a fork. */
void mp_alloc_restart(mp_ctx *c);

/* Counts the samples that waited for a stack: L is at a safepoint. */
void mp_alloc_safepoint(mp_ctx *c, lua_State *L, int state);

/* -- sample/cpu.c: the CPU sampler -- */

/* 0, or an errno value: EBUSY if another profiler has the timer. */
int mp_timer_start(mp_ctx *c, lua_State *L);
void mp_timer_stop(mp_ctx *c, lua_State *L);
void mp_timer_forked(mp_ctx *c);
bool mp_timer_lost(const mp_ctx *c, double now);  /* At that CPU second. */
double mp_timer_cpu(void);	/* CPU seconds of the process. */
double mp_timer_wall(void);	/* Seconds of a clock that never jumps. */

/* -- profile/point.c: the course of the run -- */

/* The run begins here and now, in this process. */
void mp_point_begin(mp_ctx *c);

/* Takes a point, if one is due or if it must be. */
void mp_point_take(mp_ctx *c, bool must);

/* -- profile/leaks.c: what is held, not just not collected yet -- */

/* A full collection, where leaks are wanted and where it can be made; once.
** L is running. */
void mp_leaks_collect(mp_ctx *c, lua_State *L);

/* Whether a collection has come to the object, and left it. */
bool mp_leaks_judged(const mp_ctx *c, const mp_sample *s);

/* -- run/end.c: whichever way the program ends -- */

void mp_end_enlist(mp_ctx *c);
void mp_end_delist(mp_ctx *c);
mp_ctx *mp_end_list(void);

/* Takes the signals that have their default action. The luajit command gives
** SIGINT another one, and gives it the default action back when it came. */
void mp_end_take_signals(void);
bool mp_end_signalled(void);	/* A fatal signal waits for the report. */
void mp_end_by_signal(bool safepoint);	/* Reports, then dies of it. */
void mp_end_fail(void);		/* The process is to exit with status 3. */
void mp_ctx_note(mp_ctx *c, const char *text);

/* -- lib/lib.c: the module -- */

/* What a function returns that failed: nil, a message, an errno value. */
int mp_fail(lua_State *L, const char *msg, int err);

/* -- profile/snapshot.c -- */

/* Pushes the profile as one table. Raises Lua errors: out of memory. */
void mp_snapshot(lua_State *L, mp_ctx *c);

/* -- out/modules.c: where private states find their modules -- */

/* Pushes a package.path for them. */
void mp_modules_path(lua_State *L);

/* -- out/report.c: reports are made in a state of their own -- */

/* Opens that state, with that package.path. NULL, or a message (static or in
** buf). */
const char *mp_report_open(mp_ctx *c, const char *path, char *buf, size_t n);
void mp_report_close(mp_ctx *c);

/* Makes a plan of what L has on its stack: an option string and the names of
** outputs, which are opened. Returns 0; or an errno value, MP_WRONG or -1,
** with a message in buf. To be freed in any case, at the same address. */
int mp_plan_make(mp_ctx *c, lua_State *L, mp_plan *plan, char *buf, size_t n);
void mp_plan_free(mp_ctx *c, mp_plan *plan);

/* Makes and writes the reports of the plan, each whether or not others fail.
** Returns 0; or what mp_plan_make does, for the first that fails: what the
** others say goes to standard error. */
int mp_report(mp_ctx *c, const mp_plan *plan, char *buf, size_t n);

/* The same for the profile's own plan, at the end, once. */
int mp_report_final(mp_ctx *c, char *buf, size_t n);

/* Draws the report on the screen. */
void mp_report_draw(mp_ctx *c, mp_screen *s);

/* -- out/screen.c: the live view -- */

int mp_screen_open(mp_screen *s);  /* 0 or errno: there is no terminal. */
void mp_screen_tick(mp_ctx *c);  /* Draws, once in a while. */
void mp_screen_draw(mp_screen *s, const char *text, size_t len);
void mp_screen_close(mp_screen *s);

#endif
