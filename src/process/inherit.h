/* SPDX-License-Identifier: MIT */
/*
** Children that inherit a profile.
**
** A forked child has no profile of its own unless its outputs have names of
** their own (process/fork.h). But its parent may end without a report:
** daemon(3) forks, and the parent leaves by _exit. So the child continues to
** count. When it finds that its parent has ended without a report, it takes the
** parent's place; of several children the first one does, and if that one ends
** without a report, too, the next.
*/
#ifndef MP_INHERIT_H
#define MP_INHERIT_H

#include <stdbool.h>

#include "process/ctx.h"

/* To be called once, before the other functions. taken: is called when this
** process has taken a run over, and takes the signals that end it. */
void mp_inherit_install(void (*taken)(void));

/* In the child of a fork by that process, which may inherit the run: the run
** continues here although it is marked as done. */
void mp_inherit_wait(mp_ctx *c, pid_t parent);

/* The final reports of the run are made here and now: nobody inherits it. */
void mp_inherit_end(mp_ctx *c);

/* Whether a process that ends without a report now leaves the run to the child
** that it has just forked. Async-signal-safe. */
bool mp_inherit_leaves(const mp_ctx *c);

/* Before a fork, and in the process that forks once it has returned. */
void mp_inherit_before_fork(mp_ctx *c);
void mp_inherit_forked(mp_ctx *c);

/* Takes the run over, if it can be inherited. Not to be called by a signal
** handler. */
void mp_inherit_look(mp_ctx *c);

/* The same where this is the last opportunity: a parent that is about to leave
** is given some milliseconds after its fork to do so. */
void mp_inherit_settle(mp_ctx *c);

#endif
