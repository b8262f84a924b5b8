/* SPDX-License-Identifier: MIT */
/*
** The one lock of the process.
**
** It protects everything that profiles or threads share: the list of profiles,
** the owner of LuaJIT's profiler, LuaJIT's dump buffer, and the arrays of a
** profile while they move, because the thread that ends the process reads the
** profiles of the others.
**
** The lock is recursive: starting or stopping LuaJIT's profiler flushes all
** traces, and the program may have attached a handler to that event which
** calls the profiler. A signal handler that returns does not wait for the lock,
** but where it has interrupted compiled code and no thread waits for it.
*/
#ifndef MP_LOCK_H
#define MP_LOCK_H

#include <stdbool.h>

void mp_lock(void);

/* Takes the lock if no other thread has it. */
bool mp_lock_try(void);

void mp_unlock(void);

/* Whether nobody has the lock at the moment. Async-signal-safe. */
bool mp_lock_is_free(void);

/* In the child of a fork, which has one thread: nobody has the lock. */
void mp_lock_renew(void);

#endif
