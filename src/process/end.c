/* SPDX-License-Identifier: MIT */
/*
** See process/end.h.
*/
#include "config.h"

#include <stdlib.h>

#include "process/end.h"
#include "process/final.h"
#include "process/signal.h"

static void at_exit(void)
{
  if (mp_ctx_list() == NULL) return;
  mp_signal_hold_at_end();
  mp_final_report_all();
  mp_signal_release_at_end();
}

void mp_end_install(void)
{
  atexit(at_exit);
  at_quick_exit(at_exit);
}
