/* SPDX-License-Identifier: MIT */
/*
** Reports are made in a private Lua state (report/state.h), by plans.
**
** Functions return as those of report/plan.h, with a message in buf.
*/
#ifndef MP_REPORT_H
#define MP_REPORT_H

#include <stddef.h>

#include "profile/moment.h"
#include "profile/profile.h"
#include "report/plan.h"
#include "report/screen.h"
#include "report/state.h"

typedef struct mp_report {
  mp_profile *profile;		/* What is reported, */
  const mp_moment *from, *to;	/* as in mp_snapshot; */
  const mp_moment *at;		/* that moment, if it is not a window, */
  const struct mp_heapwalk *walk;  /* with that walk; or both NULL. */
  const mp_trigger *event;	/* As in mp_scope, */
  const struct mp_baseline *base;  /* likewise. */
  mp_state *state;
} mp_report;

/* Bytes that the reports of a plan may take while they are made. */
double mp_report_limit(const mp_plan *plan);

/* Opens the state, with that package.path. To be closed even if it fails. */
int mp_report_open(mp_report *r, mp_profile *p, const char *path, char *buf,
		   size_t n);
void mp_report_close(mp_report *r);

/* Opens a state for the next report with that path, which takes time. Any
** thread. */
void mp_report_prepare(const char *path);

/* Makes and writes the reports of the plan, each whether or not others fail.
** Returns the error of the first that fails; the messages of others go to
** standard error. *leaked: the bytes that leak by these reports, or 0. */
int mp_report_write(mp_report *r, const mp_plan *plan, double *leaked,
		    char *buf, size_t n);

/* The same at the end of a profile: waits for a moment for the answers of
** servers, where nobody reads of them later. */
int mp_report_finish(mp_report *r, const mp_plan *plan, double *leaked,
		     char *buf, size_t n);

/* As mp_report_write, once in a while, for regular files alone: other outputs
** get the last report only. */
int mp_report_rewrite(mp_report *r, const mp_plan *plan, char *buf, size_t n);

/* As mp_report_write, for the outputs that have a file for each event. */
int mp_report_event(mp_report *r, const mp_plan *plan, const char *event,
		    char *buf, size_t n);

/* Draws the report of the plan on the screen. */
void mp_report_draw(mp_report *r, const mp_plan *plan, mp_screen *s);

#endif
