/* SPDX-License-Identifier: MIT */
/*
** The interface between the functions that intercept exec, _exit, calls by
** which the program enters a sandbox, and calls that look for signals
** (preload/exec.c), and the core, which writes its reports then, or takes its
** own signal back (process/exec.h, module/confine.h).
**
** The functions are those of a library that is preloaded and knows nothing of
** LuaJIT, or else the core's own (process/intercept.h).
*/
#ifndef MP_EXECPORT_H
#define MP_EXECPORT_H

#include <stdint.h>

#define MP_EXECPORT_SYMBOL	"luajit_mp_exec_port"
#define MP_EXECPORT_VERSION	4

typedef struct mp_execport {
  uint32_t version;		/* MP_EXECPORT_VERSION */
  /* These are called on the thread that calls exec or _exit, which may be in a
  ** signal handler, or in the child of vfork. NULL: nobody wants to know. */
  void (*volatile before)(void);  /* Before the program is replaced. */
  void (*volatile failed)(void);  /* The program was not replaced. */
  void (*volatile leaves)(void);  /* It ends at once. */
  /* It is about to take a filter of system calls, a struct sock_fprog; NULL: in
  ** which it may only read, write and exit. */
  void (*volatile confined)(const void *filter);
  /* It is about to look for signals that it blocks in this thread. */
  void (*volatile awaits)(void);
} mp_execport;

#endif
