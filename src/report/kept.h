/* SPDX-License-Identifier: MIT */
/*
** Descriptors that are kept while the program runs. The program may close them
** and open others, so each is used only while it is still the file that was
** opened.
*/
#ifndef MP_KEPT_H
#define MP_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor, and the file that it was when it was opened. */
typedef struct mp_kept {
  int fd;			/* Or -1. */
  dev_t dev;
  ino_t ino;
} mp_kept;

/* Keeps the descriptor. */
void mp_kept_set(mp_kept *k, int fd);

/* Whether the descriptor is still that file. */
bool mp_kept_holds(const mp_kept *k);

/* Closes the descriptor, if it is still that file. */
void mp_kept_close(mp_kept *k);

#endif
