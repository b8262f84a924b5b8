/* SPDX-License-Identifier: MIT */
/*
** Points of the course of the run (data/course.h): what time it is, and how
** high the heap stands.
*/
#ifndef MP_POINT_H
#define MP_POINT_H

#include <stdbool.h>

#include "profile/profile.h"

/* Takes a point, if one is due or if it must be. May be called inside the
** allocator; keeps errno. */
void mp_point_take(mp_profile *p, bool must);

#endif
