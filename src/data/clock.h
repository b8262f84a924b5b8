/* SPDX-License-Identifier: MIT */
/*
** Clocks, in seconds.
*/
#ifndef MP_CLOCK_H
#define MP_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

double mp_clock_cpu(void);	/* CPU time of the process. */
double mp_clock_cpu_of(pid_t pid);	/* Of another; 0 where there is none. */
double mp_clock_thread(pid_t tid);	/* Of a thread of this process; less */
					/* than 0: there is none. */
double mp_clock_wall(void);	/* Never jumps; begins anywhere. */
double mp_clock_unix(void);	/* Since 1970. */

/* A number that changes every few milliseconds, and is quickly read. */
uint64_t mp_clock_jiffy(void);

/* Sleeps for some milliseconds, or until a signal comes. Async-signal-safe. */
void mp_clock_pause(unsigned ms);

/* The time that a call of mp_clock_wall takes. */
double mp_clock_price(void);

#endif
