/* SPDX-License-Identifier: MIT */
/*
** Functions and variables that the objects of another process export.
**
** The search is made in the memory of the process: the file of an object may
** have been replaced, or be visible to that process alone.
*/
#ifndef MP_SYMBOL_H
#define MP_SYMBOL_H

#include "attach/maps.h"

/* Address of an exported function; 0: there is none. object: a mapping of the
** object, or NULL, for all of them in turn. */
uint64_t mp_symbol_find(const mp_maps *m, const mp_mapping *object,
			const char *name);

/* The same for a variable; *size: its bytes. */
uint64_t mp_symbol_variable(const mp_maps *m, const mp_mapping *object,
			    const char *name, uint64_t *size);

/* Address of the value of a function's symbol, which has what is added to
** *base; 0: there is none. */
uint64_t mp_symbol_entry(const mp_maps *m, const mp_mapping *object,
			 const char *name, uint64_t *base);

#endif
