/* SPDX-License-Identifier: MIT */
/*
** Leaks: before the report everything is collected that can be, so that what
** is in use then is held by something.
*/
#ifndef MP_LEAKS_H
#define MP_LEAKS_H

#include "profile/profile.h"

/* Makes a full collection, where leaks are wanted and where it can be made;
** once. L runs, outside the allocator; finalizers may call the profiler. */
void mp_leaks_collect(mp_profile *p, lua_State *L);

#endif
