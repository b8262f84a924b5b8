/* SPDX-License-Identifier: MIT */
/*
** A bug of LuaJIT before 20 May 2022 (4ef96cff, "Fix alias analysis for table
** length forwarding"), which Debian 12's build has: compiled code may take the
** length of a table from before a store to it, where the store was made through
** another reference. Whether a program meets it depends on which traces are
** made; the checks for the profiler at each line change that.
*/
#ifndef MP_BUG_H
#define MP_BUG_H

#include <stdbool.h>

/* Tests whether this LuaJIT has the bug, once in a process. The test needs a
** private state and less than a millisecond. */
void mp_bug_try(void);

/* Whether the test has found the bug. */
bool mp_bug_found(void);

#endif
