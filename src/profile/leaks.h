/* SPDX-License-Identifier: MIT */
/*
** Leaks: a full collection before the report, after which each object in use
** has a holder.
*/
#ifndef MP_LEAKS_H
#define MP_LEAKS_H

#include "profile/profile.h"

/* Makes a full collection, once, if leaks are wanted and a collection can be
** made. L runs, outside the allocator; finalizers may call the profiler. */
void mp_leaks_collect(mp_profile *p, lua_State *L);

#endif
