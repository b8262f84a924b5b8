/* SPDX-License-Identifier: MIT */
/*
** Memory of the command's that was refused: what looks at a process then has
** seen less than there is, and any other reason that is given would be wrong.
*/
#ifndef MP_ROOM_H
#define MP_ROOM_H

#include <stdbool.h>

/* Returns p, what a function has made that says so by errno where it finds no
** memory. */
void *mp_room(void *p);

/* Whether memory has been refused since the last mp_room_forget. */
bool mp_room_lacks(void);
void mp_room_forget(void);

#endif
