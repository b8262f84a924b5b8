/* SPDX-License-Identifier: MIT */
/*
** Counts every call, by the VM's call hook. The JIT compiler is off while calls
** are counted, because compiled code calls no hook.
*/
#ifndef MP_CALLS_H
#define MP_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/capture.h"
#include "sample/cpu.h"

#include "lua.h"

typedef struct mp_calls {
  mp_capture *capture;
  const mp_cpu *cpu;
  uint64_t dropped;		/* Calls that were not counted: no memory. */
  bool on;			/* Calls are counted. */
  bool was_compiling;		/* The compiler was on before. */
} mp_calls;

/* Begins to count. The owner has set capture and cpu. False: the program has a
** hook, or the caller is a finalizer. */
bool mp_calls_start(mp_calls *c, lua_State *L);

/* Ends counting. False: the program has set a hook in the meantime, and later
** calls were not counted. */
bool mp_calls_stop(mp_calls *c, lua_State *L);

#endif
