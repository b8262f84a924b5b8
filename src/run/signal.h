/*
** Signals that end the process: the report is written first.
**
** The signals taken are those that have their default action. The handler
** only sets a flag and asks the VM for a safepoint; where none comes within a
** second, because the program is blocked in C code, the report is made right
** there: it needs nothing from the program. Then the signal does what it
** would have done.
*/
#ifndef MP_SIGNAL_H
#define MP_SIGNAL_H

/* Takes the signals that have their default action. To be called again now
** and then: the luajit command gives SIGINT another one, and gives it the
** default action back when it came. */
void mp_signal_take(void);

/* Gives them back. */
void mp_signal_leave(void);

/* At a safepoint: if a signal has come, reports, and dies of it. */
void mp_signal_look(void);

#endif
