/* SPDX-License-Identifier: MIT */
/*
** The interface between the library that intercepts exec (src/preload/exec.c)
** and the core, which writes its reports then (process/exec.h).
**
** The library is preloaded and knows nothing of LuaJIT.
*/
#ifndef MP_EXECPORT_H
#define MP_EXECPORT_H

#include <stdint.h>

#define MP_EXECPORT_SYMBOL	"luajit_mp_exec_port"
#define MP_EXECPORT_VERSION	1

typedef struct mp_execport {
  uint32_t version;		/* MP_EXECPORT_VERSION */
  /* The next two are called on the thread that calls exec, which may be in a
  ** signal handler, or in the child of vfork. NULL: nobody wants to know. */
  void (*volatile before)(void);  /* The program is about to be replaced; */
  void (*volatile failed)(void);  /* it was not. */
} mp_execport;

#endif
