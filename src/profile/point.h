/* SPDX-License-Identifier: MIT */
/*
** Points of the timeline (data/course.h): the time, and the size of the heap.
*/
#ifndef MP_POINT_H
#define MP_POINT_H

#include "profile/profile.h"

/* Takes a point if one is due. May be called inside the allocator; keeps
** errno. */
void mp_point_take(mp_profile *p);

/* Takes a point even if none is due: at the end, so that the timeline adds up
** to the counts. */
void mp_point_force(mp_profile *p);

#endif
