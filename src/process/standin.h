/* SPDX-License-Identifier: MIT */
/*
** A child that writes the reports of a process that cannot write them: that
** process was interrupted anywhere, perhaps in the middle of malloc, and will
** end or be replaced by another program.
**
** The child has a copy of all memory. If the copy holds a lock that nobody will
** release, or is inconsistent, the child gets stuck or crashes, and the reports
** are lost; the parent notices within a second, and continues. A child that
** writes may take as long as its readers do.
**
** A signal handler may call all functions except mp_standin_install.
*/
#ifndef MP_STANDIN_H
#define MP_STANDIN_H

#include <stdbool.h>

/* To be called before the other functions, in each process. asked: whether a
** signal asks this process to end. */
void mp_standin_install(bool (*asked)(void));

/* In the child: whether a signal asks the parent to end. */
bool mp_standin_asked(void);

/* Writes all reports. given_up: returns true when nobody wants them any more.
** begin: is called in the child before anything else; or NULL. The spans of the
** profiles have ended. False: some reports, or all of them, are lost. */
bool mp_standin_report(bool (*given_up)(void), void (*begin)(void));

#endif
