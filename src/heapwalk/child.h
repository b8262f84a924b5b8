/* SPDX-License-Identifier: MIT */
/*
** A walk that is made by a child of the process, while the program goes on.
**
** The child is forked at a moment when the VM is at rest, and has a copy of all
** memory. The program does not learn of it: it is no child that wait returns,
** sends no signal at its end, has no descriptors, and takes no locks and no
** memory that another thread may have been busy with (data/pool.h). It runs at
** a lower priority unless it is urgent, and ends with the thread that has
** forked it.
*/
#ifndef MP_HEAPCHILD_H
#define MP_HEAPCHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "heapwalk/walk.h"

typedef struct mp_heapchild {
  pid_t pid;
  struct mp_heapshare *share;	/* Memory where the walk will be. */
  double seconds;		/* That the fork took. */
  double at;			/* As in mp_heapwalk. */
} mp_heapchild;

/* Begins as mp_heapwalk_take; the request is for no file. Returns NULL, or why
** there can be no child: a static string. */
const char *mp_heapchild_begin(mp_heapchild *c, const mp_profile *p,
			       lua_State *L, const mp_heaprequest *request);

/* Waits for the walk, in any thread, which then goes to mp_heapwalk_free. If it
** is lost, or *hurry becomes true, it has only a reason for that. hurry may be
** NULL. */
mp_heapwalk *mp_heapchild_end(mp_heapchild *c, const atomic_bool *hurry);

/* -- Of another process's heap (heapwalk/copied.h) ------------------------- */

/* Makes the memory where the walk will be, and so many bytes more, for the text
** of a file. False: there is none. */
bool mp_heapchild_share(mp_heapchild *c, size_t more);

/* In a child that was forked by hand and has the copy: walks, and ends. Nothing
** in the copy can make it do more than crash or take its time, which is
** bounded. */
_Noreturn void mp_heapchild_copied(mp_heapchild *c, pid_t parent,
				   const mp_copied *copied,
				   const mp_heaprequest *request);

/* Its walk once it has ended; seconds and at are those of *c. */
mp_heapwalk *mp_heapchild_taken(mp_heapchild *c);

#endif
