/* SPDX-License-Identifier: MIT */
/*
** See attach/kind.h.
*/
#include "config.h"

#include "attach/kind.h"
#include "vm/machine.h"

#ifndef MP_REFS32
#define KIND	mp_kind_gc64
#define LAST	((UINT64_C(1) << 47) - 1)
#define CORE	"core.so"
#elif defined(__x86_64__)
#define KIND	mp_kind_refs32
#define LAST	UINT32_MAX
#define CORE	"core32.so"
#else
#define KIND	mp_kind_refs32
#define LAST	UINT32_MAX
#define CORE	"core.so"
#endif

const mp_kind KIND = {
  CORE, LAST, mp_find_states, mp_find_resting, mp_find_cframe, mp_leave,
  mp_stack_running, mp_stack_read, mp_stack_functions
};
