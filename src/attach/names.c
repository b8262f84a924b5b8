/* SPDX-License-Identifier: MIT */
/*
** See attach/hidden.h: a library of its own, whose functions are never called.
** What is loaded before the profiler's module gets the addresses of LuaJIT's
** functions in place of these.
*/
#include "config.h"

#include <stdlib.h>

#include "attach/names.h"

#define STUB(name) \
  __attribute__((visibility("default"))) void name(void); \
  void name(void) { abort(); }

MP_NAMES(STUB)
MP_NAMES_LOOKED_FOR(STUB)
