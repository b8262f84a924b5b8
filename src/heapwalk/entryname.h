/* SPDX-License-Identifier: MIT */
/*
** Names for entries (heapwalk/entries.h), by the references that lead to them.
*/
#ifndef MP_ENTRYNAME_H
#define MP_ENTRYNAME_H

#include <stddef.h>
#include <stdint.h>

#include "heapwalk/entries.h"

/* The name of the reference from `up` (0: the VM) to the node, empty where
** there is none. Returns how many references there are from one to the
** other; the first one is named. */
uint32_t mp_edge_name(mp_heap *h, uint32_t up, uint32_t node, char *buf,
		      size_t n);

/* The name of an entry, to be appended to that of its holder. From malloc, or
** NULL: no memory. */
char *mp_entry_name(const mp_entries *s, const mp_entry *e);

#endif
