/* SPDX-License-Identifier: MIT */
/*
** Forks: a child continues with a profile of its own, from the fork on, if the
** names of all its outputs have %p; else it has no profile, unless it inherits
** its parent's (process/inherit.h).
*/
#ifndef MP_FORK_H
#define MP_FORK_H

/* To be called once. */
void mp_fork_install(void);

#endif
