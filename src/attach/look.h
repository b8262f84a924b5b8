/* SPDX-License-Identifier: MIT */
/*
** The reasons why a process cannot be attached to that show from outside.
*/
#ifndef MP_LOOK_H
#define MP_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "module/attach.h"

/* The way that there is for a process that cannot be attached to. */
#define MP_OUTSIDE_SHOWS "--outside shows its CPU time, and its heap with -O W"

/* Whether the process exists, is of our architecture and not traced, and can
** load the library, whose name leads to the same file there (NULL: nothing is
** to be loaded). False: buf says why not. */
bool mp_look_process(pid_t pid, const char *library, char *buf, size_t n);

/* The seccomp mode of a thread, and the number of its filters. */
typedef struct mp_confined {
  long mode, filters;
} mp_confined;

mp_confined mp_look_confined(pid_t tid);

/* The process that traces a thread; 0: none does. */
pid_t mp_look_tracer(pid_t tid);

/* This command, for a module that it gives requests to. */
mp_attach_caller mp_look_caller(void);

/* Whether that command has ended for certain. */
bool mp_look_gone(const mp_attach_caller *caller);

/* Whether the process has ended. */
bool mp_look_ended(pid_t pid);

/* Writes to buf that another process traces this one. */
void mp_look_traced(pid_t pid, pid_t tracer, char *buf, size_t n);

/* Writes to buf that the system does not permit an attach, and the remedy. */
void mp_look_forbidden(pid_t pid, char *buf, size_t n);

#endif
