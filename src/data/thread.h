/* SPDX-License-Identifier: MIT */
/*
** Threads of the profiler's own, beside those of the program.
*/
#ifndef MP_THREAD_H
#define MP_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread to which no signal of the program comes. Returns 0 or an
** errno value, as pthread_create does. */
int mp_thread_start(pthread_t *thread, const pthread_attr_t *attr,
		    void *(*f)(void *data), void *data);

/* The same with a stack for reports; state: detached or joinable, as for
** pthread_attr_setdetachstate. */
int mp_thread_start_roomy(pthread_t *thread, int state,
			  void *(*f)(void *data), void *data);

/* Calls f and waits for its end: here, or in such a thread where the C stack
** that this one runs on has little room, as those of some hosts' coroutines. */
void mp_thread_roomy(void (*f)(void *data), void *data);

/* The calling thread works for a moment each time: the kernel need not let it
** wait, when it wakes, until others have worked for long. */
void mp_thread_brief(void);

/* Makes a condition that is waited for until a moment of mp_thread_after. */
void mp_thread_condition(pthread_cond_t *condition);

/* The moment that many nanoseconds from now. */
struct timespec mp_thread_after(uint64_t ns);

#endif
