/* SPDX-License-Identifier: MIT */
/*
** The end of the process by exit or quick_exit: the reports that are still to
** be made are made there.
*/
#ifndef MP_END_H
#define MP_END_H

/* To be called once, after mp_exit_install: what is registered last runs
** first. */
void mp_end_install(void);

#endif
