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

/* Takes the hook away. False: somebody put an allocator over it, so it stays,
** and the heap has to stay where it is for as long as the VM. */
bool mp_hook_remove(mp_alloc *h, lua_State *L);

#endif
