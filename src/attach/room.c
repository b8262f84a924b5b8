/* SPDX-License-Identifier: MIT */
/*
** See attach/room.h.
*/
#include "config.h"

#include <errno.h>
#include <stddef.h>

#include "attach/room.h"

static bool lacks;		/* Memory was refused. */

void *mp_room(void *p)
{
  if (p == NULL && errno == ENOMEM) lacks = true;
  return p;
}

bool mp_room_lacks(void) { return lacks; }

void mp_room_forget(void) { lacks = false; }
