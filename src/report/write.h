/* SPDX-License-Identifier: MIT */
/*
** Writes that never kill the program: a SIGPIPE or SIGXFSZ that they cause is
** not delivered. They return 0 or an errno value.
*/
#ifndef MP_WRITE_H
#define MP_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of the text, however long that takes. ETIMEDOUT: a signal asks the
** program to end, and nobody reads from the pipe or the socket. */
int mp_write(int fd, const char *text, size_t len);

/* From now on writes to pipes and sockets do not wait for ever. asked: whether
** a signal asks the program to end. */
void mp_write_bound(bool (*asked)(void));

/* Whether a FIFO has waited long enough, since that time (mp_clock_wall), for a
** reader to come. */
bool mp_write_deserted(double since);

/* Writes a line with our name on standard error. Async-signal-safe. */
void mp_say(const char *text);

/* From now on the flag is raised while a write waits for its reader. */
void mp_write_watch(volatile int *flag);
void mp_write_begins_waiting(void);
void mp_write_ends_waiting(void);

/* Writes what the program has in the buffer of its standard output. Another
** thread may be stuck with the lock, or nobody may read from the pipe: then
** nothing is done. */
void mp_write_stdout_first(void);

/* From now on that does nothing. */
void mp_write_leave_stdout(void);

/* Delivers the signal that this write caused: without us the program would have
** got it later. To be called when all reports are written. */
void mp_write_settle(void);

#endif
