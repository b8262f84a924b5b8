/* SPDX-License-Identifier: MIT */
/*
** The program enters a sandbox: a filter of system calls that would end it for
** one that the profiler makes. The run of the VM that is about to do so ends
** before, with its report, as by mp.stop().
**
** This takes a call that is seen (process/intercept.h), and a VM whose layout
** is proved; compiled code that makes the call is not noticed.
*/
#ifndef MP_CONFINE_H
#define MP_CONFINE_H

/* To be called once, before there are profiles. */
void mp_confine_install(void);

#endif
