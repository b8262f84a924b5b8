/* SPDX-License-Identifier: MIT */
/*
** exec: the program is replaced by another one, and so would be its profile.
** _exit: it ends, and no code of ours would run.
**
** Where such calls are seen (process/intercept.h), a child writes the reports
** before, as one does for a process that is stuck (process/standin.h). If exec
** fails, the program continues with its profile, whose report at the end
** replaces that one. A process that has just forked leaves its profile to its
** child (process/inherit.h). A program that calls the functions that look for
** signals that wait does not find the timer's.
*/
#ifndef MP_EXEC_H
#define MP_EXEC_H

/* To be called once, before there are profiles. */
void mp_exec_install(void);

#endif
