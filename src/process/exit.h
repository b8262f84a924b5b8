/* SPDX-License-Identifier: MIT */
/*
** The exit status of the process.
*/
#ifndef MP_EXIT_H
#define MP_EXIT_H

/* More leaked than the user allows: a process that would exit with success
** exits with this status. */
#define MP_EXIT_LEAK	3

/* To be called once, before a function is registered that calls the next
** one. */
void mp_exit_install(void);

/* The program leaked more than is allowed. */
void mp_exit_leaky(void);

#endif
