/* SPDX-License-Identifier: MIT */
/*
** One visit to a process: its thread is stopped, does what is due, and
** continues.
*/
#ifndef MP_VISIT_H
#define MP_VISIT_H

#include "attach/session.h"

typedef enum mp_visited {
  MP_VISITED,			/* Nothing yet, or see s->answer. */
  MP_VISIT_GONE,		/* The process has ended. */
  MP_VISIT_FAILED		/* s->msg says why. */
} mp_visited;

/* Visits the process. call: the request; placed: whether the VM knows of it
** already, and when it was last handed to it. */
mp_visited mp_visit(mp_session *s, const mp_attach_call *call, double *placed);

/* Reads the answer, without a visit. False: there is none for us. */
bool mp_visit_read(mp_session *s);

/* Writes to the answer that the request is withdrawn. False: it is being
** done. */
bool mp_visit_withdraw(mp_session *s);

/* Finds the thread that runs the VM. */
void mp_visit_choose(mp_session *s);

#endif
