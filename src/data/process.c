/* SPDX-License-Identifier: MIT */
/*
** See data/process.h.
*/
#include "config.h"

#include <unistd.h>

#include "data/process.h"

static pid_t stood_in_for;	/* Or 0. */

pid_t mp_process(void) { return stood_in_for ? stood_in_for : getpid(); }

void mp_process_stand_in(pid_t pid) { stood_in_for = pid; }

bool mp_process_stands_in(void) { return stood_in_for != 0; }
