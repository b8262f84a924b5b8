/* SPDX-License-Identifier: MIT */
/*
** The functions of preload/exec.c where they are a part of the core.
*/
#ifndef MP_PRELOAD_EXEC_H
#define MP_PRELOAD_EXEC_H

#include "data/execport.h"
#include "data/slots.h"

#define MP_CALLS	22

/* Lists all of them, and returns their port. To be called once. */
mp_execport *mp_calls_list(mp_slotcall list[MP_CALLS]);

#endif
