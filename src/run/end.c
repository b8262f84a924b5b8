/* SPDX-License-Identifier: MIT */
/*
** See run/end.h.
*/
#include "config.h"

#include <stdlib.h>

#include "run/end.h"
#include "run/final.h"
#include "run/signal.h"

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
