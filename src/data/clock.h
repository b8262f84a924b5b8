/* SPDX-License-Identifier: MIT */
/*
** Clocks, in seconds.
*/
#ifndef MP_CLOCK_H
#define MP_CLOCK_H

double mp_clock_cpu(void);	/* CPU time of the process. */
double mp_clock_wall(void);	/* Never jumps; begins anywhere. */
double mp_clock_unix(void);	/* Since 1970. */

#endif
