/*
** Option strings are read and reports are made in a private Lua state.
**
** It is opened when the profile starts and has loaded all the views by then,
** so nothing that the program does can stop the report: another directory or
** root, changed libraries, a full heap, a trace or a C call that is still
** running when the process is told to end. And the profiled heap, whose size
** and collections are measured, holds next to nothing of ours.
**
** Functions return 0, what those of out/output.h do, or one of the numbers
** below; if not 0, with a message in buf.
*/
#ifndef MP_REPORT_H
#define MP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out/output.h"
#include "out/screen.h"
#include "profile/profile.h"

#include "lua.h"

#define MP_FAILED (-1)		/* The report could not be made. */
#define MP_WRONG (-2)		/* Wrong arguments. */

/* What an option string and the names of outputs ask for. The parsed options
** themselves stay in the state that makes the reports. */
typedef struct mp_plan {
  mp_output *outs;		/* Where the report goes: `nouts` places. */
  int nouts;
  uint64_t period;		/* Mean bytes between samples; 0: adapts. */
  int interval;			/* Milliseconds between CPU samples. */
  double leak_limit;		/* Bytes; 0: none. */
  double walk;			/* Share of a line in a heap walk; 0: none. */
  bool walk_file;		/* A .heapsnapshot is written. */
  bool events, leaks, live;	/* Whether these are wanted. */
  bool help;			/* The report is the list of the options. */
} mp_plan;

typedef struct mp_report {
  mp_profile *profile;		/* What is reported. */
  lua_State *R;			/* The private state, or NULL. */
  bool making;			/* It is in use. */
} mp_report;

/* Opens the state, with that package.path. To be closed even if it fails. */
int mp_report_open(mp_report *r, mp_profile *p, const char *path, char *buf,
		   size_t n);
void mp_report_close(mp_report *r);

/* Makes a plan of what L has on its stack: an option string and the names of
** outputs, which are opened. To be freed in any case, at the same address. */
int mp_plan_make(mp_report *r, lua_State *L, mp_plan *plan, char *buf,
		 size_t n);
void mp_plan_free(mp_report *r, mp_plan *plan);

/* Makes and writes the reports of the plan, each whether or not others fail.
** Returns the error of the first that fails; what the others say goes to
** standard error. *leaked: the bytes that they say leak, or 0. */
int mp_report_write(mp_report *r, const mp_plan *plan, double *leaked,
		    char *buf, size_t n);

/* Draws the report of the plan on the screen. */
void mp_report_draw(mp_report *r, const mp_plan *plan, mp_screen *s);

#endif
