/* SPDX-License-Identifier: MIT */
/*
** See profile/notes.h.
*/
#include "config.h"

#include <stddef.h>

#include "profile/notes.h"

void mp_notes_add(mp_notes *n, const char *text)
{
  int i;
  for (i = 0; i < MP_NOTES; i++)
    if (n->list[i] == NULL || n->list[i] == text) {
      n->list[i] = text;
      return;
    }
}
