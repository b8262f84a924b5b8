/* SPDX-License-Identifier: MIT */
/*
** Files that are complete or absent: each is written under another name in the
** same directory, and then renamed.
**
** Functions return 0, an errno value or MP_FOREIGN.
*/
#ifndef MP_REPLACE_H
#define MP_REPLACE_H

#include <stddef.h>

/* Writes a file of that name in the directory, or leaves the old one. The new
** file has the mode and owner of the one that it replaces. */
int mp_replace(int dir, const char *name, const char *text, size_t len);

/* Whether such a file can be made there: 0, or why not. */
int mp_replace_try(int dir, const char *name);

#endif
