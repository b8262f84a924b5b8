/* SPDX-License-Identifier: MIT */
/*
** Notes to the reader of a report: static strings, each of them once.
*/
#ifndef MP_NOTES_H
#define MP_NOTES_H

#define MP_NOTES 8		/* Notes kept, at most. */

typedef struct mp_notes {
  const char *list[MP_NOTES];	/* The first NULL ends it. */
} mp_notes;

void mp_notes_add(mp_notes *n, const char *text);

#endif
