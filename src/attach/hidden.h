/* SPDX-License-Identifier: MIT */
/*
** A LuaJIT in a process whose functions no object exports, as where it is
** linked into a program. They are found in the object's symbol table, or in
** that of its debug file.
**
** The profiler's module needs them by their names: a library that has only
** these (attach/names.c) is loaded first, and its symbols get the addresses,
** until the module is there. Then they have none again, which is as if there
** were no such symbols: what the program loads later finds what it would find
** without us.
*/
#ifndef MP_HIDDEN_H
#define MP_HIDDEN_H

#include "attach/maps.h"
#include "attach/tracee.h"

#define MP_HIDDEN_LIBRARY "names.so"
#define MP_HIDDEN_MAX	128	/* Functions. */

typedef struct mp_hidden {
  uint64_t at[MP_HIDDEN_MAX];	/* Their addresses in the process, */
  uint64_t symbol[MP_HIDDEN_MAX]; /* and those of the library's symbols. */
} mp_hidden;

/* Finds the functions. library: the path of ours. Returns a mapping of the
** object; NULL: there is no object that has all of them. Then buf says what is
** wrong, unless no object has a LuaJIT. */
const mp_mapping *mp_hidden_find(mp_hidden *h, const mp_maps *m,
				 const char *library, char *buf, size_t n);

/* Gives the symbols of the library, which is loaded, the addresses. */
bool mp_hidden_show(mp_hidden *h, const mp_maps *m, const char *library,
		    mp_tracee *t);

/* Takes them away again, but from those that are only looked for. */
void mp_hidden_hide(const mp_hidden *h, mp_tracee *t);

#endif
