/* SPDX-License-Identifier: MIT */
/*
** Reads files that strangers may have named: the sources of a profile.
**
** Only regular files are read, and no more of a file than its size says: a
** directory, a device, a FIFO or a file of /proc gives an error or nothing, and
** never blocks. Both functions return 0, an errno value, or MP_FILE_*. They
** keep no memory and are called while a report is made, in any thread.
*/
#ifndef MP_FILE_H
#define MP_FILE_H

#include <stddef.h>

#define MP_FILE_KIND	(-1)	/* Not a regular file. */
#define MP_FILE_OUTSIDE	(-2)	/* Not below the directory. */

/* The size in bytes. below: a directory that the file must lie in, links being
** followed; or NULL. */
int mp_file_size(const char *path, const char *below, size_t *size);

/* Reads at most size bytes, and stores their number in n. */
int mp_file_read(const char *path, char *buf, size_t size, size_t *n);

/* The message of an error. */
const char *mp_file_error(int err);

#endif
