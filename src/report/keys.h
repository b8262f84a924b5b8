/* SPDX-License-Identifier: MIT */
/*
** Keys that are pressed while a live view is shown.
**
** The profiled program owns its terminal: keys are taken only where nobody else
** can be waiting for them. All of these must hold:
** - Standard input is not a terminal, so keys are not the program's input.
** - The process leads the process group in the foreground, as the first command
**   of a job in a shell does: the terminal is not the input of another command
**   of a pipeline, nor of the script that runs the program.
** - The terminal has its ordinary modes, line by line and with echo: a program
**   that opens the terminal for keys or for a password changes them.
**
** Between two looks for keys the terminal keeps these modes, so that there is
** nothing to restore, however the program ends, stops or forks.
*/
#ifndef MP_KEYS_H
#define MP_KEYS_H

#define MP_KEYS_MAX	16	/* Keys that one look takes, at most. */

/* Stores the keys that were pressed since the last look, or since the process
** got the terminal, and returns their number; -1: they are not ours. Does not
** wait. Not in a signal handler. */
int mp_keys_take(char keys[MP_KEYS_MAX]);

#endif
