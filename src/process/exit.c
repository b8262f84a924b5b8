/* SPDX-License-Identifier: MIT */
/*
** See process/exit.h.
*/
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/exit.h"

static bool leaky;

void mp_exit_leaky(void) { leaky = true; }

static void set_status(int status, void *unused)
{
  (void)unused;
  if (status != 0 || !leaky) return;
  fflush(NULL);
  _exit(MP_EXIT_LEAK);
}

void mp_exit_install(void) { on_exit(set_status, NULL); }
