/* SPDX-License-Identifier: MIT */
/*
** Whether LuaJIT was seen in the program that luajit-mp run has become, or in
** one that it runs: these say so in a file without a name, which the program
** keeps open and whose place is in the environment.
*/
#ifndef MP_SEEN_H
#define MP_SEEN_H

#include <stdbool.h>

/* Makes the file, or finds it. For a constructor. */
void mp_seen_begin(void);

/* Whether this process is the program. */
bool mp_seen_is_program(void);

/* LuaJIT was seen in this process. */
void mp_seen_note(void);

/* The same from the core: a script that sets LD_PRELOAD itself takes our
** library from what it runs, and LUA_INIT has that profiled all the same. */
void mp_seen_profiled(void);

/* Whether no process has noted that. False, too, where it is not known: the
** program has closed the file. */
bool mp_seen_none(void);

#endif
