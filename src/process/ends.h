/* SPDX-License-Identifier: MIT */
/*
** The end of a run: the final reports, made once, whichever way the program
** ends, and the exit status of the process.
*/
#ifndef MP_ENDS_H
#define MP_ENDS_H

#include <stddef.h>

#include "process/ctx.h"

/* To be called once, before mp_signal_install: of the functions that are called
** at the exit, the one that was registered last runs first, and the status is
** set when all reports are made. */
void mp_ends_install(void);

/* Makes the final reports of a run, if they are still to be made and the run
** belongs to this process. Where another thread is making them, waits for that
** thread. Returns as mp_report_write. */
int mp_final_report(mp_ctx *c, char *buf, size_t n);

/* The same for all runs of the process; all messages go to standard error. The
** thread that calls may work in its VM. */
void mp_final_report_all(void);

/* The same in a thread that may be stuck in its VM. */
void mp_final_report_stuck(void);

#endif
