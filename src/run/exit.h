/* SPDX-License-Identifier: MIT */
/*
** The exit status of the process.
*/
#ifndef MP_EXIT_H
#define MP_EXIT_H

/* More leaked than the user allows: a process that would exit with success
** exits with this status. */
#define MP_EXIT_LEAK	3

/* To be called once, before anything is registered that calls the next. */
void mp_exit_install(void);

/* Says that it leaked. */
void mp_exit_leaky(void);

#endif
