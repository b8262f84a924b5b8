/* SPDX-License-Identifier: MIT */
/*
** Signals that end the process: the report is written first.
**
** The signals taken are those that have their default action. A signal asks the
** VM for a safepoint, where the report is written; then the signal takes its
** default action. If no safepoint is reached within a second, because the
** program is blocked in C code, a child writes the report (process/standin.h).
** A child does so at once for signals that the program itself causes (SIGPIPE,
** SIGXFSZ), since the program must not continue. The handler calls only
** functions that are async-signal-safe.
**
** A report that has begun is finished: further signals wait for it, however
** long it takes, unless it goes to a FIFO that nobody reads. The third one, or
** SIGQUIT, abandons the report, and says so. A program that has ended by itself
** does not die of a signal that arrives while its reports are written: it keeps
** its exit status.
*/
#ifndef MP_SIGNAL_H
#define MP_SIGNAL_H

/* To be called once, before the other functions; and in the child of a fork. */
void mp_signal_install(void);
void mp_signal_forked(void);

/* Takes the signals that have their default action. A process with the number 1
** is not ended by them: none is taken there. */
void mp_signal_take(void);

/* The luajit command gives SIGINT another action, and after the signal the
** default one, so this function must be called now and then. */
void mp_signal_take_again(void);

/* Restores the actions of the signals. A signal that waits is delivered. */
void mp_signal_leave(void);

/* Whether a signal has arrived that ends the process. */
bool mp_signal_waits(void);

/* If a signal has arrived, reports, and dies of the signal. To be called at a
** safepoint: the VM is at rest. */
void mp_signal_look(void);

/* The same where the VM is not at rest, but everything is allowed that is
** allowed inside the allocator. */
void mp_signal_look_incode(void);

/* Around the writing of reports. */
void mp_signal_hold(void);
void mp_signal_release(void);

/* Dies of a signal that has arrived meanwhile. */
void mp_signal_die(void);

/* The same when the program, or its Lua state, has ended by itself. */
void mp_signal_hold_at_end(void);
void mp_signal_release_at_end(void);

#endif
