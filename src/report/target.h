/* SPDX-License-Identifier: MIT */
/*
** The target of a path: an open directory, and a name in it that is not a link
** except in /proc/self/fd.
**
** The path is walked component by component, so that no stranger's link is
** followed where anybody may put one: in a sticky directory that all may write
** to, an entry is taken only if it belongs to this user or to the directory's
** owner. (Linux does the same for links if the sysctl fs.protected_symlinks is
** set.) A dangling link leads to the file that opening it would create.
**
** Functions return 0, or an errno value, or MP_FOREIGN. No memory is taken.
*/
#ifndef MP_TARGET_H
#define MP_TARGET_H

#include <limits.h>
#include <sys/stat.h>

#define MP_FOREIGN (-3)		/* Another user's entry, as said above. */

typedef struct mp_target {
  int dir;			/* Opened with O_PATH, or -1. */
  char name[NAME_MAX + 1];
} mp_target;

/* path: an absolute one. On failure the target is closed. */
int mp_target_find(mp_target *p, const char *path);

/* The status of the file; ENOENT: there is none. */
int mp_target_stat(const mp_target *p, struct stat *st);

/* The same for a name in a directory that was found before, with the same
** check: MP_FOREIGN for another user's entry, ELOOP for a link, but for
** those of /proc/self/fd. A stranger cannot replace an entry that passes. */
int mp_target_check(int dir, const char *name, struct stat *st);

void mp_target_close(mp_target *p);

#endif
