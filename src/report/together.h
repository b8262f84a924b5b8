/* SPDX-License-Identifier: MIT */
/*
** Profiles of several Lua states in one report: what those that have ended
** add up to, as the text of an .mp file, for each output that wants it.
**
** To be used with the lock (data/lock.h), from the question for a sum until it
** has been replaced.
*/
#ifndef MP_TOGETHER_H
#define MP_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the place of %m in the names of such outputs. */
#define MP_TOGETHER "all"

/* The sum for an output by that name, which stays ours; NULL: no profile has
** ended in this process yet. */
const char *mp_together_get(const char *name, size_t *len);

/* Keeps a copy of the new sum. False: no memory. */
bool mp_together_set(const char *name, const char *text, size_t len);

#endif
