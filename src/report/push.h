/* SPDX-License-Identifier: MIT */
/*
** Sends reports to a server: the curl command does it, in the background.
**
** The program is neither held up nor notified: curl is not its child (no
** SIGCHLD, nothing that wait() would find), has none of its descriptors, and
** its answer comes through a pipe that is looked at now and then. Where
** orphans become the program's children, because it is the first process of a
** container, mp_push_look reaps curl.
**
** A text that is sent has several parts: a line with the length of each,
** and the parts one after another. The first is what curl reads on its
** standard input, its configuration; the others are /dev/fd/3, /dev/fd/4 and so
** on.
*/
#ifndef MP_PUSH_H
#define MP_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define MP_PUSH_PARTS	6	/* At most. */

typedef enum mp_pushed {
  MP_PUSH_NONE,			/* Nothing was sent. */
  MP_PUSH_ON_ITS_WAY,
  MP_PUSH_DONE,			/* The server has it. */
  MP_PUSH_FAILED		/* The server does not: `why` says why. */
} mp_pushed;

typedef struct mp_push {
  char *curl;			/* The command. */
  int fd;			/* The pipe, or -1. */
  dev_t dev;			/* Device of the pipe, which the program may */
				/* close. */
  ino_t ino;
  pid_t owner;			/* The process that sends. */
  pid_t pid;			/* curl's; 0: not known. */
  char answer[200];		/* What curl has said so far, */
  size_t len;
  bool late;			/* It was waited for. */
  char why[240];		/* and in words. */
} mp_push;

/* Whether an output is the address of a server. */
bool mp_push_is_address(const char *name);

/* Makes one. NULL, with an errno value: ENOENT if there is no curl command. */
mp_push *mp_push_new(int *err);

/* Sends a text; nothing is on its way. Returns 0 or an errno value. An empty
** text needs no sending. */
int mp_push_start(mp_push *p, const char *text, size_t len);

/* Says how it went; done or failed is said once. */
mp_pushed mp_push_look(mp_push *p);

/* Where standard error is a pipe or a socket: waits some seconds for what is on
** its way. */
void mp_push_await(mp_push *p);

/* Leaves to itself what is on its way. Should it not arrive a line on standard
** error says so, whenever that is, with this name for the server. Where
** standard error is a pipe or a socket, whose reader would wait for that, a
** line says now that there is no answer, if that was waited for. */
void mp_push_leave(mp_push *p, const char *name);

/* In the child of a fork: what is on its way is the parent's. */
void mp_push_forget(mp_push *p);

void mp_push_free(mp_push *p);

#endif
