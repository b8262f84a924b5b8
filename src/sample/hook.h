/* SPDX-License-Identifier: MIT */
/*
** The lua_Allocs of the heap sampler, and how they get in place.
*/
#ifndef MP_HOOK_H
#define MP_HOOK_H

#include "sample/alloc.h"

/* Puts the hook in place. L runs; the caller has set the options in the heap,
** and the other samplers that it works with. */
void mp_hook_install(mp_alloc *h, lua_State *L);

/* Removes the hook. False: another allocator was put over the hook, so the hook
** stays, and the heap must stay where it is for as long as the VM lives. */
bool mp_hook_remove(mp_alloc *h, lua_State *L);

/* Whether it can be removed. */
bool mp_hook_removable(const mp_alloc *h, lua_State *L);

/* Whether a sampler whose profile has ended must not serve another one of L:
** calls of L's allocator come to its hook, as others have kept it and put it
** below theirs; or the hook calls functions of an allocator that L has no more.
** Makes an allocation, and frees it. */
bool mp_hook_kept(const mp_alloc *h, lua_State *L);

/* Knows the coroutines of L's VM from now on, as far as they get labels or are
** made by others that have some: if the layout is known, and the hook is in
** place. L has called a C function. */
void mp_hook_coroutines(mp_alloc *h, lua_State *L);

#endif
