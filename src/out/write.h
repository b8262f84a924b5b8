/*
** Writes that never kill the program: SIGPIPE and SIGXFSZ that come of them
** are not delivered. They return 0 or an errno value.
*/
#ifndef MP_WRITE_H
#define MP_WRITE_H

#include <stddef.h>

/* Writes all of the text, however long that takes. */
int mp_write(int fd, const char *text, size_t len);

/* Writes what the program has in the buffer of its standard output. Another
** thread may be stuck with the lock: then nothing is done. */
void mp_write_stdout_first(void);

/* Delivers the signal that came of that: without us the program would have
** got it later. To be called when all reports are written. */
void mp_write_settle(void);

#endif
