/* SPDX-License-Identifier: MIT */
/*
** The destination of a report: standard output, a file, or the program that
** hosts Lua.
**
** The start of a profile checks that the file can be written, so that a wrong
** name is known before the program has run. A file is complete or absent: it is
** written at the end, under another name in the same directory, and then
** renamed. Anything but a regular file (a terminal, a pipe, /dev/stdout) is
** opened at the start and written at the end, except a FIFO, which is opened at
** the end: its reader may come late. It does not wait for ever for that, nor,
** when a signal asks the program to end, for a reader that does not read.
**
** Directories and descriptors are kept from the start on: the program may
** change its directory or root. It may also close them and open others, so
** each is used only while it is still the file that was opened.
**
** A host program may take the text itself, by a writer (luajit-mp.h). The child
** that stands in for a stuck program cannot call the writer.
**
** Functions return 0, an errno value, or one of those below.
*/
#ifndef MP_OUTPUT_H
#define MP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "luajit-mp.h"
#include "report/push.h"
#include "report/target.h"

/* A descriptor, and the file that it was when it was opened. */
typedef struct mp_kept {
  int fd;			/* Or -1. */
  dev_t dev;
  ino_t ino;
} mp_kept;

#define MP_ELSEWHERE (-4)	/* The writer is in another process. */
#define MP_NO_CURL (-5)		/* No command that sends to a server. */
#define MP_UNREAD (-6)		/* Nobody reads the FIFO, */
#define MP_STALLED (-7)		/* or the pipe or socket. */

#define MP_EVENT_SIZE 32

typedef struct mp_output {
  char *path;			/* Absolute, %p, %t and %e kept; or NULL. */
  char *given;			/* As the user named it; NULL: stdout. */
  luajit_mp_writer writer;	/* Its write is NULL: there is none. */
  mp_push *push;		/* Where it is the address of a server. */
  mp_kept dir;			/* The directory of the output. */
  char name[NAME_MAX + 1];	/* The name in that directory. */
  mp_kept file;			/* The file, where it is special. */
  bool special;			/* Not a regular file. */
  bool fifo;			/* A FIFO with a name, opened when written. */
  bool deserted;		/* It has waited for a reader in vain. */
  bool literal;			/* A % stands for itself. */
  bool together;		/* It gets the sum of several profiles. */
  bool written;			/* This one has written it. */
  double since;			/* Unix time, or 0. A file written later */
				/* is another's of this program. */
  pid_t pid;			/* Process that the name was made for. */
  double started;		/* Unix time, for %t. */
  char event[MP_EVENT_SIZE];	/* For %e; "": the end. */
} mp_output;

/* name: a file name, relative to cwd, the address of a server, or NULL or "-"
** for stdout. %p in it stands for the process, %t for the time, %e for the
** event that is reported. To be closed even where it fails. */
int mp_output_open(mp_output *o, const char *name, const char *cwd);

/* The writer takes the text for that name. To be closed even where it fails. */
int mp_output_hand(mp_output *o, const char *name, const luajit_mp_writer *w);

/* Writes the text, which replaces the file. To a server it is sent in the
** background. A SIGPIPE or SIGXFSZ that this causes is not delivered. */
int mp_output_write(mp_output *o, const char *text, size_t len);

/* Waits for a transfer to a server as mp_push_await does. */
void mp_output_await(mp_output *o);

/* A transfer to a server is left to itself, as in report/push.h. */
void mp_output_leave(mp_output *o);

void mp_output_close(mp_output *o);

/* Opens, writes and closes at once; the name is taken as it is. */
int mp_output_put(const char *name, const char *text, size_t len);

/* Whether each process has a file of its own (%p), or sends what is its own. */
bool mp_output_perpid(const mp_output *o);

/* Whether each event has a file of its own (%e). */
bool mp_output_perevent(const mp_output *o);

/* From now on %e stands for that name; "": for the end. */
void mp_output_event(mp_output *o, const char *name);

/* Whether a text replaces the one before: it is a regular file, or a writer. */
bool mp_output_is_file(const mp_output *o);

/* Whether the file there is one that another process or Lua state has written
** since the program began. */
bool mp_output_replaces(mp_output *o);

/* In the child of a fork, whose report has the same destination. */
void mp_output_forked(mp_output *o);

/* Columns of the terminal; 0: the destination is none. */
int mp_output_width(const mp_output *o);

#define MP_NAME_SIZE	320

/* The name as messages show it: control characters are spelled as in a Lua
** string, the end of a long name is left out, and so is a password in an
** address. Returns buf. */
const char *mp_output_name(char buf[MP_NAME_SIZE], const char *name);

/* The message of an error of these functions. */
const char *mp_output_error(int err);

#endif
