/* SPDX-License-Identifier: MIT */
/*
** A heap as Chrome's DevTools read it: the text of a .heapsnapshot file.
**
** The file has all objects that have a holder, with all references. The objects
** without a holder have one node together, and so has each part of the VM's own
** memory: the total is the number that the collector counts.
*/
#ifndef MP_HEAPFILE_H
#define MP_HEAPFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "heapwalk/graph.h"
#include "heapwalk/size.h"

/* The text, from malloc, and its length. NULL: no memory. g: dominated. */
char *mp_heapfile_make(mp_heap *h, mp_graph *g, const mp_heapown *own,
		       uint64_t garbage, size_t *len);

#endif
