/* SPDX-License-Identifier: MIT */
/*
** Leaks: a full collection before the report, so that something holds each
** object that is in use then.
*/
#ifndef MP_LEAKS_H
#define MP_LEAKS_H

#include "profile/profile.h"

/* Makes a full collection, once, where leaks are wanted and a collection can be
** made. L runs, outside the allocator; finalizers may call the profiler. */
void mp_leaks_collect(mp_profile *p, lua_State *L);

#endif
