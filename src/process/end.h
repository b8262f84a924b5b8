/* SPDX-License-Identifier: MIT */
/*
** The end of the process by exit or quick_exit, where the remaining reports are
** made.
*/
#ifndef MP_END_H
#define MP_END_H

/* To be called once, after mp_exit_install: the function that is registered
** last runs first. */
void mp_end_install(void);

#endif
